"""The page over a real server with a real job: from a text with a mistake in it to a change that is taken back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.page.conftest import opened

pytestmark = [pytest.mark.integration, pytest.mark.slow]
START = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
# The first batch of a job waits for Spark to start.
PATIENCE = 240_000


@dataclass
class Served:
    url: str
    token: str
    input: Path

    def write(self, name: str, *rows: tuple[str, float, int] | str) -> None:
        """A file of orders: country, amount and seconds after the start; text stands for itself."""
        lines = [row if isinstance(row, str) else _order(*row) for row in rows]
        temporary = self.input.parent / f"{name}.tmp"
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
        temporary.rename(self.input / f"{name}.json")

    def sql(self, amount: str = "amount") -> str:
        return f"""CREATE STREAM orders (country STRING, amount DOUBLE, at TIMESTAMP) WITH (
  'connector' = 'files', 'path' = '{self.input}', 'format' = 'json', 'event.time.field' = 'at', 'watermark.delay' = '5s'
);

CREATE STREAM revenue AS
SELECT country, _window_start AS since, SUM({amount}) AS revenue FROM orders GROUP BY country WINDOW TUMBLING(1m)
WITH ('connector' = 'files', 'path' = '{self.input.parent}/out', 'format' = 'json');
"""


def _order(country: str, amount: float, seconds: int) -> str:
    return json.dumps({"country": country, "amount": amount, "at": (START + timedelta(seconds=seconds)).isoformat()})


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "in").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tmp_path / "data"
    words = [sys.executable, "-m", "windrow", "serve", "--port", str(port), "--data", str(data), "--master", "local[1]"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ.copy())
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line.startswith("Windrow serves on"), line
    server.stdout.readline()
    made = Served(line.split()[-1], (data / "admin-token").read_text().strip(), tmp_path / "in")
    yield made
    _stop_job(data)
    server.terminate()
    server.wait(30)


def _stop_job(data: Path) -> None:
    """Jobs outlive their server; this one must not outlive its test."""
    note = data / "jobs" / "shop" / "process.json"
    if note.exists():
        pid = json.loads(note.read_text())["host"]["pid"]
        try:
            os.killpg(pid, 9)
        except ProcessLookupError:
            return


@pytest.fixture
def real(browser: Browser) -> Iterator[Page]:
    yield from opened(browser)


def test_a_job_from_a_mistake_to_a_change_that_is_taken_back(real: Page, served: Served) -> None:
    served.write("1", ("DE", 10, 2), ("FR", 7, 20), '{"country": "DE", "amount": ', ("DE", 5, 50))
    real.goto(served.url)
    real.get_by_label("Token").fill(served.token)
    real.get_by_role("button", name="Sign in").click()
    real.get_by_role("link", name="New job").first.click()
    _deploy(real, served)
    _watch(real, served)
    _replay(real)
    _change(real, served)


def _deploy(page: Page, served: Served) -> None:
    """A mistake first: it is underlined, and nothing can be deployed."""
    page.get_by_label("Name").fill("shop")
    editor = page.get_by_role("textbox", name="SQL")
    editor.fill(served.sql("amuont"))
    expect(page.locator(".sql-bad")).to_have_text("amuont")
    expect(page.locator(".found")).to_contain_text("WR214")
    expect(page.get_by_role("button", name="Deploy and run")).to_be_disabled()
    editor.fill(served.sql())
    page.get_by_role("button", name="Deploy and run").click()
    expect(page.get_by_role("heading", name="shop")).to_be_visible()


def _watch(page: Page, served: Served) -> None:
    """Rows flow, by the stream alone; a window is open, then closes; the broken row is a dead letter."""
    expect(page.locator(".tile").filter(has_text="rows a second")).to_contain_text("4 in", timeout=PATIENCE)
    expect(page.locator(".tile").filter(has_text="dead letters")).to_contain_text("1")
    page.locator("svg g[role=button]").filter(has_text="read").first.click()
    facts = page.get_by_label("Facts of orders")
    expect(facts).to_contain_text("4 rows in = 3 passed + 1 dead letters (WR701 1)")
    expect(facts).to_contain_text("adds up")
    page.get_by_role("link", name="Windows").click()
    expect(page.locator("main")).to_contain_text("2 windows held")
    page.locator("svg g[role=button]").first.click()
    expect(page.locator("main")).to_contain_text("it closes when the watermark reaches 2026-01-05 09:31:00")
    served.write("2", ("DE", 1, 70))
    expect(page.locator("main")).to_contain_text("1 window held", timeout=PATIENCE)
    page.get_by_role("link", name="Batches").click()
    expect(page.locator(".stack g[role=button]")).not_to_have_count(0)


def _replay(page: Page) -> None:
    page.get_by_role("link", name="Dead letters").click()
    expect(page.locator(".letter pre")).to_have_text('{"country": "DE", "amount": ')
    page.get_by_text("Feed all of them").click()
    page.get_by_role("button", name="Try it (dry run)").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 would fail again", timeout=PATIENCE)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Replay 1").click()
    expect(page.get_by_role("dialog")).to_contain_text("will be taken once more", timeout=PATIENCE)
    page.get_by_role("dialog").get_by_role("button", name="Close").click()


def _change(page: Page, served: Served) -> None:
    """Another expression over the same aggregate keeps the state; afterwards the version of before runs again."""
    page.get_by_role("link", name="SQL and versions").click()
    page.get_by_role("textbox", name="SQL").fill(served.sql().replace("AS revenue FROM", "AS earned FROM"))
    expect(page.locator(".diff .add")).to_contain_text("AS earned")
    page.get_by_role("button", name="Plan").click()
    expect(page.locator("main")).to_contain_text("can be applied, the state stays", timeout=PATIENCE)
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("main")).to_contain_text("Against version 2, which runs", timeout=PATIENCE)
    expect(page.locator(".head")).to_contain_text("running", timeout=PATIENCE)
    page.locator("summary").filter(has_text="Version 1").click()
    page.get_by_role("button", name="Roll back to 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Roll back to 1").click()
    expect(page.locator("main")).to_contain_text("Against version 1, which runs", timeout=PATIENCE)
    expect(page.get_by_role("dialog")).to_have_count(0)
