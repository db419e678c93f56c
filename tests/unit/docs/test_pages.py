"""What pages name exists: links, modules, settings of the environment, keys of WITH lists."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.unit.docs.markdown import PAGES, ROOT, anchors, links, shown
from windrow.settings import PREFIX, Settings

DOCS = [page for page in PAGES if "adr" not in page.parts]


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_of_the_documentation_is_linked() -> None:
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES for link in links(page)}
    assert [shown(page) for page in DOCS if page.parent.name == "docs" and page not in linked] == []


def test_decisions_are_listed_in_their_order() -> None:
    folder = ROOT / "docs" / "adr"
    listed = re.findall(r"^\| \[\d+\]\((.+?)\)", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_every_figure_of_performance_is_of_a_run_that_has_a_date() -> None:
    """Outside of the tables, which are made from results, a number belongs to no measurement."""
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    prose = re.sub(r"<!-- generated: .*?<!-- end -->", "", page, flags=re.DOTALL)
    unit = r"(?:ms|s|us|µs|GB|MB|%|M rows|rows a second|times)"
    assert re.findall(rf"\d[\d.,]* {unit}(?!\w)", re.sub(r"[\d,]+ rows a second with a batch a second", "", prose)) == []


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_modules_named_exist(page: Path) -> None:
    names = set(re.findall(r"`(windrow(?:\.[a-z_0-9]+)+)`", page.read_text(encoding="utf-8")))
    assert [name for name in sorted(names - {"windrow.yaml"}) if not _exists(name)] == []


def test_the_walk_of_a_row_is_short() -> None:
    """Whoever reads it goes through so many modules and no more; the page says how many."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    walk = text.partition("## A walk of one row\n")[2].partition("\n## ")[0]
    modules = set(re.findall(r"`(windrow(?:\.[a-z_0-9]+)+)`", walk))
    assert len(modules) <= 20
    assert f"{len(modules)} modules" in walk


def _exists(name: str) -> bool:
    """A module, or something that a module has."""
    try:
        if find_spec(name) is not None:
            return True
    except ModuleNotFoundError:
        pass
    module, _, attribute = name.rpartition(".")
    return hasattr(__import__(module, fromlist=[attribute]), attribute)


def test_every_setting_of_the_environment_is_described() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [name for name in Settings.model_fields if f"`{PREFIX}{name.upper()}`" not in page] == []


@pytest.mark.parametrize("page", DOCS, ids=shown)
def test_no_page_holds_a_path_of_a_machine(page: Path) -> None:
    assert re.findall(r"/(?:home|root|work|Users|tmp)/\S+", page.read_text(encoding="utf-8")) == []
