"""Every case of tests/conformance/cases on the real engine: as written, with restarts, and through Structured Streaming."""

from __future__ import annotations

import re
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow.testing import Case, CaseRunner, load_cases
from windrow.testing.file_inputs import FORMATS, why_not_as_files

CONFORMANCE = Path(__file__).parent.parent / "conformance"
CASES = [case for path in sorted((CONFORMANCE / "cases").glob("*.jsonl")) for case in load_cases(path)]
GAPS = {line for line in (CONFORMANCE / "gaps.txt").read_text().splitlines() if line and not line.startswith("#")}
RUNNING = [case for case in CASES if case.name not in GAPS and not case.expects_error]
# A few of each kind: the slow ways of running a case need not repeat every variation.
SAMPLE = [case for case in RUNNING if case.file != "generated.jsonl"][::11] + [case for case in RUNNING if case.file == "generated.jsonl"][
    ::4
]

# Windows over windows pass on through every level what each of them says, so a few run in both homes of state each time.
ROLLUPS = ("rollup_counts_every_piece_in_the_window_it_belongs_to", "rollup_of_three_levels", "rollup_a_late_row_corrects_every_level")


def _name(case: object) -> str:
    return case.name if isinstance(case, Case) else str(case)


def test_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_gap_names_a_case() -> None:
    assert {case.name for case in CASES} >= GAPS


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_case(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark).run(case)
    if case.name in GAPS:
        assert verdict.is_unsupported, f"{case.name} is listed as a gap, but: {verdict.message or 'it passes'}"
    else:
        assert verdict.passed, verdict.message


@pytest.mark.parametrize("case", [case for case in SAMPLE if case.batches == "per_row"], ids=_name)
def test_restart_after_every_batch_changes_nothing(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, restart_every_batch=True).run(case)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize("case", [case for case in RUNNING if case in SAMPLE[1::3] or case.name in ROLLUPS], ids=_name)
def test_state_on_the_executors_gives_the_same(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, home="distributed", restart_every_batch=case.batches == "per_row").run(case)
    assert verdict.passed, verdict.message


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNNING, ids=_name)
def test_every_case_with_state_on_the_executors(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, home="distributed").run(case)
    assert verdict.passed, verdict.message


def _is_free_of_batches(case: Case) -> bool:
    """Whether the cut may not matter, given that streams are judged row by row."""
    sql, rows = case.sql.upper(), case.rows or [row for rows in (case.streams or {}).values() for row in rows]
    if case.batches != "per_row" or case.name in GAPS or case.expects_error:
        return False
    # A table is what it is when a batch begins, and sides of a join wait for each other from batch to batch.
    looks_at_batches = any(word in sql for word in ("PER BATCH", "JOIN", "TABLE")) or bool(case.tables)
    # Where sums run over on the way depends on what is added first.
    runs_over = "TRY_SUM" in sql
    # By the contract, a row is judged by its own partition then, not by the least of them.
    has_one_partition = len({row.get("_partition", 0) for row in rows}) <= 1 and case.partitions <= 1
    # A stream that is declared says itself how it is judged.
    times = [row["_ts"] for row in rows if "_ts" in row]
    is_in_order = re.search(r"CREATE STREAM \w+ *(\(|WITH)", sql) is None or times == sorted(times)
    return not looks_at_batches and not runs_over and has_one_partition and is_in_order


FREE = [case for case in CASES if _is_free_of_batches(case)]


# A stream that declares its watermark is judged as it says: whole batches, if it does not say rows.
CUT = [(number, case) for number, case in enumerate(FREE[::6]) if "WATERMARK FOR" not in case.sql.upper()]


@pytest.mark.parametrize(("number", "case"), CUT, ids=lambda value: value.name if isinstance(value, Case) else "")
def test_the_cut_of_batches_changes_nothing(spark: SparkSession, number: int, case: Case) -> None:
    home = ("resident", "distributed")[number % 2]
    verdict = CaseRunner(spark, home=home, batches="random", seed=number, granularity="row").run(case)
    assert verdict.passed, verdict.message


@pytest.mark.slow
@pytest.mark.parametrize("home", ["resident", "distributed"])
@pytest.mark.parametrize("case", FREE, ids=_name)
def test_two_random_cuts_of_batches_change_nothing(spark: SparkSession, case: Case, home: str) -> None:
    for seed in (1, 2):
        verdict = CaseRunner(spark, home=home, batches="random", seed=seed, granularity="row").run(case)
        assert verdict.passed, f"seed {seed}: {verdict.message}"


@pytest.mark.slow
@pytest.mark.parametrize("home", ["resident", "distributed"])
@pytest.mark.parametrize("case", [case for case in RUNNING if case.batches == "per_row"], ids=_name)
def test_restarts_change_nothing_anywhere(spark: SparkSession, case: Case, home: str) -> None:
    verdict = CaseRunner(spark, home=home, restart_every_batch=True).run(case)
    assert verdict.passed, verdict.message


def _ends_with_a_table(case: Case) -> bool:
    """Spark begins a batch for rows of a stream. One for rows of a table alone, which the other runners make, does not come."""
    rows = [row for row in case.rows or () if "_end" not in row]
    return bool(rows) and rows[-1].get("_stream") in case.tables


STREAMED = [case for case in RUNNING if not _ends_with_a_table(case)]
WAYS = [(format_, fast_paths) for format_ in FORMATS for fast_paths in (True, False)]


def _digest(case: Case) -> int:
    """The same for a case in every run, and spread evenly."""
    return int(sha256(case.name.encode()).hexdigest()[:8], 16)


# A tenth of all, chosen by name, so that a new case moves no other; each by one of the four ways.
TENTH = [(case, *WAYS[_digest(case) // 10 % 4]) for case in STREAMED if _digest(case) % 10 == 0]


def _files_give_the_same(spark: SparkSession, case: Case, format_: str, fast_paths: bool) -> None:
    verdict = CaseRunner(spark, streaming=True, input_format=format_, fast_paths=fast_paths).run(case)
    if verdict.skipped is not None:
        pytest.skip(verdict.skipped)
    assert verdict.passed, verdict.message


@pytest.mark.parametrize(("case", "format_", "fast_paths"), TENTH, ids=_name)
def test_files_give_the_same(spark: SparkSession, case: Case, format_: str, fast_paths: bool) -> None:
    _files_give_the_same(spark, case, format_, fast_paths)


@pytest.mark.conformance_all
@pytest.mark.parametrize(("format_", "fast_paths"), WAYS)
@pytest.mark.parametrize("case", STREAMED, ids=_name)
def test_every_case_from_files(spark: SparkSession, case: Case, format_: str, fast_paths: bool) -> None:
    _files_give_the_same(spark, case, format_, fast_paths)


def test_most_cases_can_be_files() -> None:
    """What cannot go that way is counted, so that it does not become more without a word."""
    reasons = Counter(why for case in STREAMED if (why := why_not_as_files(case)) is not None)
    assert sum(reasons.values()) <= len(STREAMED) // 4, reasons


@pytest.mark.parametrize("case", [case for case in SAMPLE[::2] if not _ends_with_a_table(case)], ids=_name)
def test_structured_streaming_gives_the_same(spark: SparkSession, case: Case) -> None:
    verdict = CaseRunner(spark, streaming=True).run(case)
    assert verdict.passed, verdict.message
