"""A support bundle in the page: what a server packed is shown by the same views, and no server is asked for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.page.fake_server import FakeServer
from windrow.server.bundle import Bundle

SHOP = "/deployments/shop"


def packed(server: FakeServer, folder: Path) -> Path:
    """A bundle with the recorded answers in it."""
    wanted = (SHOP, "/pipelines/shop")
    answers: dict[str, Any] = {path: told for path, told in server.answers.items() if path.startswith(wanted) and not callable(told)}
    jobs = [one for one in server.first["jobs"] if one["name"] == "shop"]
    answers["/live"] = {**server.first, "seq": 0, "jobs": jobs, "watched": server.answers[SHOP]["jobs"]}
    path = folder / "shop-bundle.zip"
    path.write_bytes(Bundle("shop", True, answers, {"sql/000001.sql": "SELECT 1"}, {}).to_zip())
    return path


def test_a_bundle_is_shown_without_a_server(page: Page, server: FakeServer, tmp_path: Path) -> None:
    path = packed(server, tmp_path)
    server.answers["/me"] = lambda *_: (401, {"title": "a token is needed", "code": "WR928"})
    page.goto(server.url)
    page.get_by_role("link", name="Open a support bundle").click()
    page.get_by_label("Bundle").wait_for()
    before = len(server.asked)
    page.get_by_label("Bundle").set_input_files(path)
    expect(page.get_by_role("heading", name="shop")).to_be_visible()
    expect(page.locator(".pulse")).to_have_text("a bundle: nothing moves")
    box = page.locator("svg g[role=button]").filter(has_text="revenue").first
    box.click()
    expect(page.get_by_label("Facts of revenue")).to_contain_text("adds up")
    for tab, told in {"Windows": "held", "Batches": "Batch", "Dead letters": "WR701", "State": "What it holds"}.items():
        page.get_by_label("Parts of the job").get_by_role("link", name=re.compile(f"^{tab}")).click()
        expect(page.locator("main")).to_contain_text(told)
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("alert")).to_contain_text("a picture of the past")
    assert server.asked[before:] == []
    page.get_by_role("button", name="Close the bundle").click()
    expect(page.get_by_label("Token")).to_be_visible()


def test_what_is_no_bundle_is_said(page: Page, server: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "notes.zip").write_bytes(b"these are notes" * 10)
    page.goto(f"{server.url}/#/bundle")
    page.get_by_label("Bundle").set_input_files(tmp_path / "notes.zip")
    expect(page.get_by_role("alert")).to_contain_text("This is no zip")
