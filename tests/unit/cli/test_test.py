"""Cases that need no Spark, and what is printed about any."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import Windrow
from windrow.cli.test import Bench, failure_line, summary
from windrow.testing import Case, Verdict
from windrow.testing.junit import junit_xml

ERROR = {"name": "unknown column", "sql": "SELECT nope FROM t", "input": [{"a": 1}], "expected": {"error": "nope"}}
WRONG = {"name": "other words", "sql": "SELECT nope FROM t", "input": [{"a": 1}], "expected": {"error": "something else"}}
GAP = {"name": "a gap", "sql": "SELECT histogram_numeric(a, 3) AS h FROM t", "input": [{"a": 1}], "expected": []}


def write(*cases: object) -> str:
    Path("cases.jsonl").write_text("\n".join(json.dumps(case) for case in cases))
    return "cases.jsonl"


def verdict(name: str, message: str = "", code: str | None = None) -> Verdict:
    return Verdict(Case(name, "", (), None, [], file="f.jsonl"), not message, message, code, 0.5)


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Bench) -> None:
        raise AssertionError("a case that fails in the checks started Spark")

    monkeypatch.setattr(Bench, "_start", refuse)


def test_the_last_line_counts(windrow: Windrow) -> None:
    done = windrow("test", write(ERROR, WRONG, GAP))
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[-1] == "1 passed, 2 failed"
    assert "1 of 2 failures are not supported yet (WR290): this aggregate, or DISTINCT in it, 1" in lines
    assert [line.split(":")[0] for line in lines if line.startswith("FAIL")] == ["FAIL cases.jsonl other words", "FAIL cases.jsonl a gap"]


def test_all_passed_is_success(windrow: Windrow) -> None:
    done = windrow("test", write(ERROR))
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")


def test_a_filter_chooses_by_name(windrow: Windrow) -> None:
    assert windrow("test", write(ERROR, WRONG), "--filter", "UNKNOWN").stdout.endswith("1 passed, 0 failed\n")


@pytest.mark.parametrize(
    ("words", "code"), [(("cases.jsonl", "--filter", "zzz"), "WR622"), (("missing.jsonl",), "WR901"), (("empty.jsonl",), "WR622")]
)
def test_nothing_to_run_is_no_success(windrow: Windrow, words: tuple[str, ...], code: str) -> None:
    write(ERROR)
    Path("empty.jsonl").write_text("")
    done = windrow("test", *words)
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr


def test_batches_cut_at_random_show_their_seed(windrow: Windrow) -> None:
    assert "the same again: --batches random --seed 7\n" in windrow("test", write(ERROR), "--batches", "random", "--seed", "7").stdout
    assert "--batches random --seed " in windrow("test", write(ERROR), "--batches", "random").stdout


def test_a_seed_without_chance_is_refused(windrow: Windrow) -> None:
    done = windrow("test", write(ERROR), "--seed", "7")
    assert done.exit_code == 2
    assert "[WR619]" in done.stderr


def test_a_crash_fails_its_case_only(windrow: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: object, case: Case) -> Verdict:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr("windrow.testing.CaseRunner.run", crash)
    done = windrow("test", write(ERROR, WRONG))
    assert done.stdout.count("[WR999] unexpected ZeroDivisionError: by zero") == 2
    assert done.stdout.endswith("0 passed, 2 failed\n")


def test_a_junit_report_is_written(windrow: Windrow) -> None:
    windrow("test", write(ERROR, WRONG), "--junit", "reports/out.xml")
    suite = ElementTree.parse("reports/out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert [case.get("name") for case in suite] == ["unknown column", "other words"]


def test_junit_survives_any_text() -> None:
    root = ElementTree.fromstring(junit_xml([verdict("a <b> & \x00", 'said "x"\nand\x1b more', "WR100"), verdict("b")]).encode())
    failure = root.find(".//failure")
    assert failure is not None
    assert (failure.get("type"), failure.get("message")) == ("WR100", 'said "x"')
    assert root.get("tests") == "2"


def test_a_failure_shows_the_whole_difference() -> None:
    shown = failure_line(verdict("x", "out: row 1 differs\n  expected {}\n  got {1}"))
    assert shown.splitlines() == ["FAIL f.jsonl x: out: row 1 differs", "       expected {}", "       got {1}"]


def test_a_gap_is_one_line() -> None:
    assert failure_line(verdict("x", "[WR290] ROWS windows are not supported yet\n  1 | x", "WR290")).count("\n") == 0


def test_gaps_are_grouped() -> None:
    gap = "[WR290] ROWS windows are not supported yet\n  1 | x"
    lines = summary([verdict("a", gap, "WR290"), verdict("b", gap, "WR290"), verdict("c", "out: row 1"), verdict("d")])
    assert lines == ["2 of 3 failures are not supported yet (WR290): ROWS windows 2", "4 cases in 2.0 s, 0.50 s each", "1 passed, 3 failed"]
