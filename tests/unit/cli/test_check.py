from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow
from windrow.model.system import SYSTEM_COLUMNS

GOOD = "CREATE STREAM t (a INT) WITH ('connector' = 'generator');\nSELECT a FROM t;\nSELECT a + 1 AS b FROM t"
BAD = "CREATE STREAM t (a INT) WITH ('connector' = 'generator');\nSELECT bb, nosuch(a) FROM t;"


def test_a_good_file_says_what_it_holds(windrow: Windrow) -> None:
    Path("good.sql").write_text(GOOD)
    done = windrow("check", "good.sql")
    assert (done.exit_code, done.stdout) == (0, "good.sql: 3 statements, 1 job\n")


def test_all_faults_of_all_files_are_shown(windrow: Windrow) -> None:
    Path("bad.sql").write_text(BAD)
    Path("worse.sql").write_text("SELECT")
    Path("good.sql").write_text(GOOD)
    done = windrow("check", "bad.sql", "worse.sql", "good.sql")
    assert done.exit_code == 2
    assert done.stdout.count("[WR") == 3
    assert "2 | SELECT bb, nosuch(a) FROM t;\n    |        ^^\n" in done.stdout
    assert "good.sql: 3 statements" in done.stdout


def test_json_places_every_fault(windrow: Windrow) -> None:
    Path("bad.sql").write_text(BAD)
    done = windrow("check", "--format", "json", "bad.sql", "missing.sql")
    assert done.exit_code == 2
    first, _, missing = json.loads(done.stdout)
    place = {key: first[key] for key in ("file", "code", "line", "column", "end_line", "end_column")}
    assert place == {"file": "bad.sql", "code": "WR214", "line": 2, "column": 8, "end_line": 2, "end_column": 10}
    assert 'unknown column "bb"' in first["message"]
    assert first["hint"]
    assert (missing["file"], missing["code"], missing["line"]) == ("missing.sql", "WR610", None)


def test_json_of_good_files_is_an_empty_list(windrow: Windrow) -> None:
    Path("good.sql").write_text(GOOD)
    done = windrow("check", "--format", "json", "good.sql")
    assert (done.exit_code, json.loads(done.stdout)) == (0, [])


def test_a_dash_reads_standard_input(windrow: Windrow) -> None:
    assert windrow("check", "-", stdin=GOOD).stdout == "<stdin>: 3 statements, 1 job\n"
    assert windrow("check", "-", stdin="SELECT x FROM nowhere").exit_code == 2


def test_placeholders_come_from_the_environment(windrow: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWS_WANTED", "5")
    sql = "CREATE STREAM t (a INT) WITH ('connector' = 'generator', 'rows' = '${ROWS_WANTED}'); SELECT a FROM t"
    assert windrow("check", "-", stdin=sql).exit_code == 0
    monkeypatch.delenv("ROWS_WANTED")
    assert "WR103" in windrow("check", "-", stdin=sql).stdout


@pytest.mark.parametrize("form", ["text", "json"])
def test_the_reference_of_system_columns_is_complete(windrow: Windrow, form: str) -> None:
    done = windrow("check", "--system-columns", "--format", form)
    assert done.exit_code == 0
    for column in SYSTEM_COLUMNS:
        assert column.name in done.stdout
        assert column.meaning in done.stdout
        assert column.example in done.stdout


def test_no_file_is_a_usage_error(windrow: Windrow) -> None:
    assert windrow("check").exit_code == 2


SURPRISING = "CREATE STREAM t (a INT) WITH ('connector' = 'generator');\nSELECT a FROM t ORDER BY a"


def test_warnings_go_to_standard_error_and_do_not_fail(windrow: Windrow) -> None:
    done = windrow("check", "-", stdin=SURPRISING)
    assert (done.exit_code, done.stdout) == (0, "<stdin>: 2 statements, 1 job, 1 warning\n")
    assert "[WR280] warning: " in done.stderr
    assert "  2 | SELECT a FROM t ORDER BY a\n    |                          ^\n  hint: " in done.stderr


def test_strict_makes_errors_of_warnings(windrow: Windrow) -> None:
    assert windrow("check", "--strict", "-", stdin=SURPRISING).exit_code == 2
    assert windrow("check", "--strict", "-", stdin=GOOD).exit_code == 0


def test_json_says_how_severe_a_finding_is(windrow: Windrow) -> None:
    done = windrow("check", "--format", "json", "-", stdin=SURPRISING)
    (warning,) = json.loads(done.stdout)
    assert (done.exit_code, warning["severity"], warning["code"], warning["line"]) == (0, "warning", "WR280", 2)
    (error, *_) = json.loads(windrow("check", "--format", "json", "-", stdin=BAD).stdout)
    assert error["severity"] == "error"


def test_what_can_be_read_is_checked_beside_what_cannot(windrow: Windrow) -> None:
    sql = "CREATE STREAM t (a INT) WITH ('connector' = 'generator');\nCREATE SINK s FROM t;\nSELECT b FROM t;\nSELECT b FROM s;"
    done = windrow("check", "-", stdin=sql)
    assert (done.exit_code, done.stdout.count("[WR")) == (2, 2)
    assert "[WR118] " in done.stdout
    assert '[WR214] unknown column "b"' in done.stdout
