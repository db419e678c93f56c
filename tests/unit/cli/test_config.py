"""``--env`` and ``windrow config``, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow
from windrow.cli.project import chosen_for
from windrow.settings import load_settings
from windrow.testing import load_cases
from windrow.testing.runner import script_of

YAML = """include: sources.sql
environments:
  dev: {master: 'local[1]', streams: {t: {rows: 5}}}
  prod: {extends: dev, state: {root: /srv/state}, variables: {PASSWORD: hush}, streams: {t: {rows: 6, seed: 1}}}
  broken: {streams: {t: {row: 5}}}
"""


@pytest.fixture
def there(windrow: Windrow) -> Windrow:
    Path("queries").mkdir()
    Path("sources.sql").write_text("CREATE STREAM t (a INT) WITH ('connector' = 'generator');")
    Path("queries/x.sql").write_text("SELECT a FROM t;")
    Path("windrow.yaml").write_text(YAML)
    return windrow


def test_a_file_is_checked_as_an_environment_has_it(there: Windrow) -> None:
    done = there("check", "queries/x.sql", "--env", "dev")
    assert (done.exit_code, done.stdout) == (0, "queries/x.sql: 2 statements, 1 job\n")
    done = there("check", "queries/x.sql", "--env", "broken", "--format", "json")
    assert done.exit_code == 2
    assert [(fault["file"], fault["line"], fault["code"]) for fault in json.loads(done.stdout)] == [("windrow.yaml", 5, "WR260")]


def test_a_folder_is_checked_whole(there: Windrow) -> None:
    Path("queries/y.sql").write_text("SELECT b FROM t;")
    done = there("check", ".")
    assert done.exit_code == 2
    assert "queries/x.sql: 2 statements, 1 job" in done.stdout
    assert 'unknown column "b"' in done.stdout


def test_explain_shows_what_the_environment_says(there: Windrow) -> None:
    assert "rows = 6" in there("explain", "queries/x.sql", "--env", "prod").stdout


def test_an_environment_without_a_file_is_an_error(windrow: Windrow) -> None:
    Path("x.sql").write_text("SELECT 1 AS a;")
    Path(".git").mkdir()
    done = windrow("check", "x.sql", "--env", "prod")
    assert done.exit_code == 2
    assert "WR547" in done.stdout
    done = windrow("config", "show")
    assert done.exit_code == 2
    assert "[WR547] there is no windrow.yaml in . or above it" in done.stderr


def test_a_project_without_files_is_an_error(there: Windrow) -> None:
    Path("queries/x.sql").unlink()
    done = there("check", ".")
    assert "[WR561] windrow.yaml: no file matches files: *.sql, queries/*.sql" in done.stderr


def test_show_masks_secrets_and_says_where_from(there: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_MASTER", "yarn")
    shown = there("config", "show", "--env", "prod").stdout
    lines = {line.split()[0]: line.split()[1:] for line in shown.splitlines() if line}
    assert "environment prod of windrow.yaml, which extends dev (environments: dev, prod, broken)" in shown
    assert lines["variables.PASSWORD"] == ["***", "windrow.yaml", "line", "4,", "prod"]
    assert lines["master"] == ["yarn", "environment", "variable", "WINDROW_MASTER"]
    told = json.loads(there("config", "show", "--env", "dev", "--format", "json").stdout)
    assert {"key": "streams.t.rows", "value": "5", "from": "windrow.yaml line 3, dev"} in told["values"]


def test_diff_shows_what_differs(there: Windrow) -> None:
    shown = [line.split() for line in there("config", "diff", "dev", "prod").stdout.splitlines()]
    assert shown[0] == ["key", "dev", "prod"]
    assert ["streams.t.rows", "5", "6"] in shown
    assert ["streams.t.seed", "-", "1"] in shown
    assert there("config", "diff", "dev", "dev").stdout == "dev and dev have the same values\n"


def test_schema_is_printed(windrow: Windrow) -> None:
    assert json.loads(windrow("config", "schema").stdout)["title"] == "windrow.yaml"


def test_who_goes_before_whom(there: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line, the process, windrow.yaml, the default."""
    chosen = chosen_for("queries/x.sql", "prod")
    assert chosen.master(None, load_settings()) == "local[1]"
    assert chosen.state(None, load_settings(), "x") == "/srv/state/prod/x"
    monkeypatch.setenv("WINDROW_MASTER", "yarn")
    monkeypatch.setenv("WINDROW_STATE", "/tmp/s")
    assert chosen.master(None, load_settings()) == "yarn"
    assert chosen.state(None, load_settings(), "x") == "/tmp/s/prod/x"
    assert chosen.master("k8s", load_settings()) == "k8s"
    assert chosen.state("here", load_settings(), "x") == "here"
    monkeypatch.setenv("WINDROW_ENV", "dev")
    assert chosen_for("queries/x.sql", None).name == "dev"
    monkeypatch.delenv("WINDROW_ENV")
    assert chosen_for("queries/x.sql", None).state(None, load_settings(), "x") == "/tmp/s/x"


def test_run_refuses_what_check_refuses(there: Windrow) -> None:
    done = there("run", ".", "--env", "broken")
    assert done.exit_code == 2
    assert 'unknown option "row" for "t"' in done.stderr


def test_cases_run_the_files_as_they_are_unless_an_environment_is_named(there: Windrow) -> None:
    """Without Spark: a case that expects what only the environment makes wrong."""
    Path("windrow.yaml").write_text("default_environment: wrong\n" + YAML + "  wrong: {streams: {nosuch: {rows: 1}}}\n")
    Path("cases").mkdir()
    case = {"name": "x", "sql_file": "../queries/x.sql", "input": {"t": []}, "expected": {"error": "no file of the project has"}}
    Path("cases/x.jsonl").write_text(json.dumps(case))
    done = there("test", ".", "--env", "wrong")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")
    (own,) = load_cases(Path("cases/x.jsonl"))
    assert [getattr(statement, "name", "") for statement in script_of(own).statements] == ["t", ""]
