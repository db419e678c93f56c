"""Saved state: columns are found by what they mean, counters have names, and files of another format are refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.observe.ledger import Ledger
from windrow.plan.stages import Aggregate, Job
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.state.columns import KEY, PART, ColumnMeaning, describe, renaming
from windrow.spark.state.counters import JobCounters, StageCounters
from windrow.spark.state.job_state import Change, JobState, StepInput
from windrow.spark.state.state_file import MAGIC, decode, encode
from windrow.spark.state.state_store import StateStore
from windrow.storage import LocalFolder
from windrow.windowing.having import LET_OUT
from windrow.windowing.step import BatchTime

SOURCE = "CREATE STREAM t (k STRING, v BIGINT, w BIGINT, ts TIMESTAMP) WITH ('connector' = 'memory', 'event.time.field' = 'ts');\n"
SECOND = 1_000_000
KINDS = ["TUMBLING(10s) ALLOWED_LATENESS 5s", "SLIDING(10s, 5s)", "SESSION(10s)", "TUMBLING(10s) EMIT CHANGES"]


def job_of(select: str, window: str, by: str = "k, w") -> Job:
    return compile_sql(f"{SOURCE}SELECT {select} FROM t GROUP BY {by} WINDOW {window};", "t.sql", {}).plan.jobs[0]


def parts_by_call(job: Job) -> dict[str, str]:
    """Column by what it holds."""
    return {str(meaning): column for column, meaning in column_meanings(job)["out"].items()}


def rows_for(job: Job, *, v: int, at: int) -> pa.Table:
    """One row of a group as the executors would give it: each column is told by what it means."""
    values = {"k": "a", "w": 7, "SUM(v) (s)": v, "MAX(w) (m)": 7, "COUNT(*) (n)": 1}
    columns = {column: [values[told]] for told, column in parts_by_call(job).items()}
    system = {"_slice": [at - at % (10 * SECOND)], "_n": [1], "_first": [at], "_last": [at], "_seq": [0], "_late_id": [None]}
    stage = job.stage("out")
    assert isinstance(stage, Aggregate)
    wanted = ("_slice", "_n", "_first", "_last", "_late_id") if "Session" in repr(stage.window) else ("_slice", "_n", "_seq")
    return pa.table(
        {**columns, **{name: pa.array(system[name], pa.int64()) for name in wanted}},
    )


def saved(folder: Path, job: Job, *, with_snapshot: bool) -> None:
    store = StateStore(LocalFolder(folder), meanings=column_meanings(job))
    steps = steps_of(job)
    state = JobState()
    for batch, value in enumerate((3, 4)):
        tick = BatchTime(None if batch == 0 else SECOND, SECOND, 0)
        rows = rows_for(job, v=value, at=2 * SECOND)
        change = Change(batch, {"out": StepInput(tick, rows)}, {}, JobCounters(), Ledger())
        store.save(change)
        state.replay(change, steps)
    if with_snapshot:
        store.snapshot(state)


BEFORE = "k, w, SUM(v) AS s, MAX(w) AS m, COUNT(*) AS n"
AFTER = "COUNT(*) AS n, MAX(w) AS m, w, k, SUM(v) AS s"


@pytest.mark.parametrize("with_snapshot", [True, False])
@pytest.mark.parametrize("window", KINDS)
def test_aggregates_in_another_order_find_their_columns(tmp_path: Path, window: str, with_snapshot: bool) -> None:
    before, after = job_of(BEFORE, window), job_of(AFTER, window, by="w, k")
    assert parts_by_call(before) != parts_by_call(after)
    saved(tmp_path, before, with_snapshot=with_snapshot)
    state = StateStore(LocalFolder(tmp_path), meanings=column_meanings(after)).load(1, steps_of(after))
    names = parts_by_call(after)
    tables = [table for table in state.tables["out"].values() if names["SUM(v) (s)"] in table.columns]
    assert sum(table[names["SUM(v) (s)"]].sum() for table in tables) == (14 if window.startswith("SLIDING") and len(tables) > 1 else 7)
    assert {value for table in tables for value in table[names["k"]].to_list()} == {"a"}
    assert {value for table in tables for value in table[names["w"]].to_list()} == {7}
    assert {value for table in tables for value in table[names["MAX(w) (m)"]].to_list()} == {7}
    fresh = rows_for(after, v=5, at=3 * SECOND)
    given = state.take_schema("out", fresh)
    outcome = steps_of(after)["out"].step(state.tables["out"], given, BatchTime(SECOND, 90 * SECOND, 0))
    assert outcome.emissions is not None
    last = outcome.emissions.sort("_revision").tail(1)
    assert (last[names["SUM(v) (s)"]].item(), last[names["COUNT(*) (n)"]].item(), last[names["k"]].item()) == (12, 3, "a")


def test_an_aggregate_that_is_gone_leaves_the_others(tmp_path: Path) -> None:
    before, after = job_of(BEFORE, KINDS[0]), job_of("k, w, COUNT(*) AS n", KINDS[0])
    saved(tmp_path, before, with_snapshot=True)
    state = StateStore(LocalFolder(tmp_path), meanings=column_meanings(after)).load(1, steps_of(after))
    names = parts_by_call(after)
    [table] = [table for table in state.tables["out"].values() if names["COUNT(*) (n)"] in table.columns]
    assert table[names["COUNT(*) (n)"]].sum() == 2
    assert {name for name in table.columns if name.startswith("_a")} == {names["COUNT(*) (n)"]}


@pytest.mark.parametrize(
    ("select", "by", "told"), [("k, w, AVG(v) AS a", "k, w", r"holds nothing for AVG\(v\)"), ("k, SUM(v) AS s", "k", "is grouped by w")]
)
def test_what_the_state_does_not_hold_is_refused(tmp_path: Path, select: str, by: str, told: str) -> None:
    saved(tmp_path, job_of(BEFORE, KINDS[0]), with_snapshot=True)
    after = job_of(select, KINDS[0], by)
    with pytest.raises(UsageError, match=f"WR804.*{told}"):
        StateStore(LocalFolder(tmp_path), meanings=column_meanings(after)).load(1, steps_of(after))


def test_the_same_call_twice_is_told_apart_by_its_place() -> None:
    meanings = {"_a0_s": ColumnMeaning(PART, "SUM(v)", "s"), "_a1_s": ColumnMeaning(PART, "SUM(v)", "s")}
    told = describe([pa.schema([("_a0_s", pa.int64()), ("_a1_s", pa.int64())])], meanings)
    assert renaming("x", told, meanings).names == {"_a0_s": "_a0_s", "_a1_s": "_a1_s"}


def test_a_header_says_what_each_column_is(tmp_path: Path) -> None:
    job = job_of(BEFORE, KINDS[0])
    saved(tmp_path, job, with_snapshot=True)
    for name in ("0000000001.change", "0000000001.snapshot"):
        header, _ = decode((tmp_path / name).read_bytes())
        columns = header["columns"]["out"]
        assert columns["_k0"] == {"role": KEY, "of": "k", "type": columns["_k0"]["type"]}
        assert columns["_a0_s"] == {"role": PART, "of": "SUM(v)", "part": "s", "type": "int64"}
        assert columns["_n"] == {"role": "column", "type": "int64"}


def test_verdicts_and_having_are_kept_apart_from_the_step(tmp_path: Path) -> None:
    store = StateStore(LocalFolder(tmp_path))
    verdicts = pa.table({"_k0": ["a"], "_window_start": [0], "_window_end": [9], LET_OUT: [True], "_revision": pa.array([1], pa.int32())})
    state = JobState()
    change = Change(0, {"s": StepInput(BatchTime(None, 5, 0), None, verdicts)}, {}, JobCounters(), Ledger())
    job = job_of("k, SUM(v) AS s", KINDS[0], "k")
    steps = {"s": steps_of(job)["out"]}
    store.save(change)
    state.replay(change, steps)
    store.snapshot(state)
    again = store.load(0, steps)
    assert again.tables["s@having"]["known"].to_dicts() == state.tables["s@having"]["known"].to_dicts()
    header, _ = decode((tmp_path / "0000000000.snapshot").read_bytes())
    assert [(told["stage"], told["holds"], told["table"]) for told in header["tables"].values()] == [("s", "having", "known")]


def test_counters_have_names_and_come_back(tmp_path: Path) -> None:
    counters = JobCounters({"s": StageCounters(3, 4, 5, 6, 7, has_headers=True), "x": StageCounters()})
    store = StateStore(LocalFolder(tmp_path))
    store.save(Change(0, {}, {}, counters, Ledger()))
    found = store.load(0, {}).counters
    assert found.of("s") == counters.of("s")
    assert counters.to_json() == {
        "s": {"numbered": 3, "emitted": 4, "buckets": 5, "evicted": 6, "arrival": 7, "has_headers": True},
    }
    copy = counters.copy()
    assert copy.of("s").take_numbers(2) == 3
    assert (counters.of("s").numbered, copy.of("s").numbered) == (3, 5)


@pytest.mark.parametrize("kind", ["change", "snapshot"])
@pytest.mark.parametrize("version", [b"1", b"3"])
def test_a_file_of_another_format_is_refused_and_left(tmp_path: Path, kind: str, version: bytes) -> None:
    store = StateStore(LocalFolder(tmp_path))
    store.save(Change(0, {}, {}, JobCounters(), Ledger()))
    file = tmp_path / f"0000000000.{kind}"
    file.write_bytes(MAGIC[:-1] + version + encode({}, {})[len(MAGIC) :])
    before = file.read_bytes()
    with pytest.raises(UsageError, match=rf"WR803.*0000000000\.{kind} in .* was written in format {version.decode()} .*this one reads 2"):
        store.load(0, {})
    assert file.read_bytes() == before


def test_tables_are_frames_again(tmp_path: Path) -> None:
    store = StateStore(LocalFolder(tmp_path))
    store.snapshot(JobState(2, {"s": {"a": pl.DataFrame({"x": [1]}), "b": pl.DataFrame({"y": ["z"]})}}))
    assert {name: frame.to_dicts() for name, frame in store.load(2, {}).tables["s"].items()} == {"a": [{"x": 1}], "b": [{"y": "z"}]}
