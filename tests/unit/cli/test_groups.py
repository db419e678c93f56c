"""``windrow group`` and its like: the page about several files is what they print, and wrong input is told."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import Windrow

PAGE = (Path(__file__).parents[3] / "docs" / "groups.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"`([a-z_]+\.sql)`[^`]*?:\n\n```sql\n(.*?)```", PAGE, re.DOTALL))
SHOWN = re.findall(r"```\n\$ windrow ([^\n]+)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def files(windrow: Windrow) -> list[str]:
    for name, sql in FILES.items():
        Path(name).write_text(sql)
    return ["revenue.sql", "vip.sql"]


@pytest.mark.parametrize(("command", "expected"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_shows_what_is_printed(windrow: Windrow, files: list[str], command: str, expected: str) -> None:
    assert files
    assert windrow(*shlex.split(command)).stdout == expected


def test_every_format_of_a_group(windrow: Windrow, files: list[str]) -> None:
    told = json.loads(windrow("group", *files, "--format", "json").stdout)
    assert {one["kind"] for one in told["conflicts"]} == {"two_writers"}
    assert windrow("group", *files, "--format", "dot").stdout.startswith("digraph group {")
    assert windrow("group", *files, "--format", "mermaid").stdout.startswith("flowchart LR")
    ElementTree.fromstring(windrow("group", *files, "--format", "svg").stdout)
    shown = windrow("group", *files, "--show", "shared").stdout
    assert shown.startswith("shared, and computed once\n")
    assert "conflicts" not in shown


def test_conflicts_can_be_an_exit_code(windrow: Windrow, files: list[str]) -> None:
    assert windrow("group", *files, "--strict").exit_code == 1
    assert windrow("group", files[0], "--strict").exit_code == 0


def test_questions_about_a_group_that_make_no_sense(windrow: Windrow, files: list[str]) -> None:
    for words, code in [
        (("revenue.sql", "revenue.sql"), "WR619"),
        (("revenue.sql", "nowhere.sql"), "WR610"),
        (("revenue.sql", "--show", "shared", "--format", "json"), "WR619"),
        ((*files, "--state", "folder"), "WR618"),
        ((*files, "--state", "other.sql=folder"), "WR618"),
        ((*files, "--state", "vip.sql=nowhere"), "WR621"),
    ]:
        done = windrow("group", *words)
        assert (done.exit_code, done.stderr[:7]) == (2, f"[{code}]"), words
