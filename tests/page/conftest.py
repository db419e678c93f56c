"""A Chromium without a screen, and the page in it: over a made-up API for most tests, over a real server for one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.page.fake_server import FakeServer

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next((found for name in NAMES if (found := shutil.which(name)) is not None), None)
    if program is None:
        pytest.skip("there is no Chromium; install it: apt-get install chromium")
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as made:
        made.answers["/check"] = {"ok": True, "warnings": []}
        made.answers["/complete"] = {"word": "", "words": []}
        made.answers |= {"/alerts": [], "/silences": []}
        yield made


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Any error of a script, and any request to elsewhere, fails the test."""
    yield from opened(browser)


def opened(browser: Browser, *, is_dark: bool = False, is_phone: bool = False) -> Iterator[Page]:
    context = browser.new_context(
        viewport=PHONE if is_phone else WIDE,  # type: ignore[arg-type]
        color_scheme="dark" if is_dark else "light",
        reduced_motion="reduce",
    )
    made = context.new_page()
    made.set_default_timeout(20_000)
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.on("request", lambda asked: faults.append(asked.url) if not asked.url.startswith(("http://127.0.0.1:", "data:")) else None)
    yield made
    context.close()
    assert faults == []


def axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.js").read_text(encoding="utf-8")
