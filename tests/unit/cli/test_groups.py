"""``windrow group`` and its like: the page about several files is what they print, and wrong input is told."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import Windrow
from windrow.compiler import compile_sql
from windrow.jobs.identity import Origin, claim
from windrow.storage import LocalFolder, folder_name

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
    if command.startswith("impact"):
        Path("revenue.sql").rename("revenue-old.sql")
        Path("revenue.sql").write_text(FILES["revenue.sql"].replace("SUM(amount) AS total, COUNT(*) AS orders", "SUM(amount * 2) AS total"))
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


def test_an_impact_can_be_an_exit_code(windrow: Windrow, files: list[str]) -> None:
    Path("new.sql").write_text(FILES["revenue.sql"].replace("amount > 0", "amount > 1"))
    for limit, code in (("values", 1), ("widens", 0), ("breaks", 0)):
        assert windrow("impact", "new.sql", files[1], "--against", files[0], "--fail-on", limit).exit_code == code
    told = json.loads(windrow("impact", "new.sql", files[1], "--against", files[0], "--format", "json").stdout)
    assert told["verdict"] == "values change"
    Path("broken.sql").write_text("SELECT nothing")
    assert windrow("impact", "new.sql", "--against", "broken.sql").stderr.startswith("broken.sql (what new.sql is compared with):\n[WR")
    assert {one["owner"] for one in told["affected"]} == {"billing", "marketing"}


def test_an_impact_against_the_text_that_made_a_state(windrow: Windrow, files: list[str]) -> None:
    """By the name of the job, by its folder, and by the folder of all jobs."""
    compiled = compile_sql(FILES["revenue.sql"], "revenue.sql")
    (job,) = compiled.plan.jobs
    state = Path(".windrow/revenue").absolute()
    claim(LocalFolder(str(state)).child(folder_name(job.name)), job, Origin.of(compiled.script, compiled.plan))
    Path("revenue.sql").write_text(FILES["revenue.sql"].replace("amount > 0", "amount > 1"))
    for against in (job.name, str(state), str(state / folder_name(job.name))):
        done = windrow("impact", *files, "--against", against)
        assert done.stdout.endswith("verdict: values change\n"), done.stderr
    done = windrow("impact", *files, "--against", "other")
    assert done.stderr.startswith("[WR621] other is no file, and there is no state of such a job")


def test_a_page_about_files(windrow: Windrow, files: list[str]) -> None:
    text = windrow("docs", *files).stdout
    assert text.startswith("# revenue.sql, vip.sql\n")
    for expected in (
        "```mermaid",
        "| orders | kafka://broker:9092/orders | id BIGINT",
        "#### revenue\n",
        "revenue.total | orders.amount (aggregation) ",
        "| revenue | kafka://broker:9092/revenue | customer, total, orders |",
        "TooMuch: warning",
        "WindrowJobFailed",
    ):
        assert expected in text, expected
    assert windrow("docs", *files, "--format", "html", "--output", "page.html", "--title", "Shop <1>").stdout == "wrote page.html\n"
    page = Path("page.html").read_text()
    assert "<h1>Shop &lt;1&gt;</h1>" in page
    assert page.count("<svg") == 1
    ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + len("</svg>")])
    assert windrow("docs", *files, "--output", "nowhere/page.md").stderr.startswith("[WR623] cannot write nowhere/page.md")


def test_a_project_stands_for_its_files(windrow: Windrow, files: list[str]) -> None:
    Path("windrow.yaml").write_text("files: ['*.sql']\n")
    for command in ("group", "docs", "lineage"):
        assert windrow(command, ".").stdout == windrow(command, *files).stdout
    old = FILES["revenue.sql"].replace("amount > 0", "amount > 1")
    Path("old.txt").write_text(old)
    with_folder = windrow("impact", "revenue.sql", ".", "--against", "old.txt")
    assert with_folder.stdout == windrow("impact", *files, "--against", "old.txt").stdout != ""


def test_files_are_taken_as_an_environment_has_them(windrow: Windrow) -> None:
    Path("windrow.yaml").write_text("environments:\n  dev: {variables: {TOPIC: trial}}\n  prod: {variables: {TOPIC: orders}}\n")
    Path("q.sql").write_text(
        "CREATE STREAM t (k STRING) WITH ('connector' = 'files', 'path' = '${TOPIC}', 'format' = 'json');\n"
        "CREATE STREAM o AS SELECT k FROM t WITH ('connector' = 'files', 'path' = 'out', 'format' = 'json');\n"
    )
    for command in (["lineage", "--format", "json"], ["group", "--format", "json"], ["docs"], ["impact", "--against", "q.sql"]):
        shown = {env: windrow(*command, "q.sql", "--env", env) for env in ("dev", "prod")}
        assert all(one.exit_code == 0 for one in shown.values()), shown
        assert ("trial" in shown["dev"].stdout) == (command[0] != "impact"), command
        assert "trial" not in shown["prod"].stdout
        assert windrow(*command, "q.sql", "--env", "test").exit_code == 2
