"""A job without Spark: partials in plain Python, the real steps, and the files of a real state folder, in both homes of state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from windrow.compiler import Compiled, compile_sql
from windrow.jobs.identity import Origin, claim, read_card, state_parts
from windrow.jobs.switching import JobSwitch, switches_of
from windrow.observe.ledger import Account, Ledger
from windrow.plan.physical.renames import part_names
from windrow.plan.stages import Aggregate, Job
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.state.buckets import BucketWork
from windrow.spark.state.job_state import Change, StepInput
from windrow.spark.state.state_file import decode, encode, frame_of
from windrow.spark.state.state_store import StateStore
from windrow.sql import render_expr
from windrow.storage import LocalFolder, folder_name
from windrow.windowing.clock import Clock
from windrow.windowing.columns import COUNT, END, SLICE, START
from windrow.windowing.step import BatchTime, stack

SECOND = 1_000_000
BUCKETS = 2
CALLS = ("COUNT(*)", "SUM(v)", "MIN(v)", "MAX(v)", "AVG(v)")
_TYPES = {"n": pa.int64(), "s": pa.int64(), "m": pa.int32()}


class Row(NamedTuple):
    key: str
    value: int
    at: int


@dataclass(frozen=True)
class Text:
    """A query: its aggregates in order, its window in seconds and the delay of its source."""

    calls: tuple[str, ...]
    size: int = 10
    advance: int = 10
    delay: int = 2
    extra: str = ""

    def sql(self) -> str:
        items = "".join(f", {call} AS c{CALLS.index(call)}" for call in self.calls)
        kind = f"TUMBLING({self.size}s)" if self.size == self.advance else f"SLIDING({self.size}s, {self.advance}s)"
        return (
            "CREATE STREAM t (k STRING, v INT, ts BIGINT) WITH ('connector' = 'files', 'path' = 'in', 'format' = 'json', "
            f"'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '{self.delay}s');\n"
            f"CREATE STREAM o AS SELECT k{items}{self.extra} FROM t GROUP BY k WINDOW {kind} "
            "WITH ('connector' = 'files', 'path' = 'out', 'format' = 'json');"
        )


class Said(NamedTuple):
    """One emission: values by call. None where nothing is said of it."""

    batch: int
    key: str
    start: int
    values: tuple[tuple[str, int | float | None], ...]


@dataclass
class PlainJob:
    """``home`` is resident or distributed. Everything that survives is in the folder."""

    folder: Path
    home: str = "resident"
    said: list[Said] = field(default_factory=list)

    @property
    def state_folder(self) -> LocalFolder:
        return LocalFolder(self.folder / "state")

    def compiled(self, text: Text) -> Compiled:
        return compile_sql(text.sql(), "q.sql", {})

    def switch(self, text: Text) -> JobSwitch:
        return switches_of(self.compiled(text), self.state_folder, "q.sql", {})[0]

    def run(self, text: Text, batches: Iterable[list[Row]], *, is_end: bool = False) -> None:
        """Take batches as a run would: from what is durable, with the text of the present version."""
        compiled = self.compiled(text)
        job = compiled.plan.jobs[0]
        folder = self.state_folder.child(folder_name(job.name))
        claim(folder, job, Origin.of(compiled.script, compiled.plan), has_begun=True)
        run = _Run(folder, job, self.home, read_card(folder).get("beginnings", {}))
        for rows in batches:
            self.said += run.take(rows)
        if is_end:
            self.said += run.take([], force=1 << 60)

    def ledger(self, text: Text) -> Ledger:
        job = self.compiled(text).plan.jobs[0]
        folder = self.state_folder.child(folder_name(job.name))
        return _Run(folder, job, self.home, {}).state.ledger


class _Run:
    def __init__(self, folder: LocalFolder, job: Job, home: str, beginnings: Mapping[str, Mapping[str, int]]) -> None:
        self.folder, self.job, self.home = folder, job, home
        stage = job.stage("o")
        assert isinstance(stage, Aggregate)
        self.stage = stage
        self.begins = beginnings.get("o", {})
        self.state_part, self.buckets_part = state_parts(folder)
        self.store = StateStore(folder.child(self.state_part), 3, meanings=column_meanings(job))
        committed = max((int(name) for name in folder.child("checkpoint/commits").names()), default=-1)
        self.store.forget_after(committed)
        self.steps = steps_of(job)
        self.state = self.store.load(committed, self.steps)
        self.work = BucketWork(stage, f"{folder.path}/{self.buckets_part}/{folder_name('o')}", f"{id(self)}", 3, 100)

    def take(self, rows: list[Row], force: int | None = None) -> list[Said]:
        batch = self.state.batch_id + 1
        self.folder.replace_atomically(f"checkpoint/offsets/{batch}", b"")
        delay = self.job.reads[0].clock.delay
        clock = self.state.clocks.get("t", Clock.start([0], 0))
        after = clock.advance({0: max(row.at for row in rows)}, 0) if rows else clock
        after = after if force is None else after.force(force)
        tick = BatchTime(clock.watermark(delay), after.watermark(delay), 0)
        counters, ledger = self.state.counters.copy(), Ledger.from_json(self.state.ledger.to_json())
        ledger.add(_counted(rows))
        if self.home == "distributed":
            counters.of("o").buckets = BUCKETS
            given, emissions = StepInput(tick, None), self._in_buckets(rows, tick, batch)
        else:
            table = self.partials(rows)
            outcome = self.steps["o"].step(self.state.tables.get("o", {}), self.state.take_schema("o", table), tick)
            given, emissions = StepInput.of(tick, table, outcome), outcome.emissions
            self.state.tables["o"] = outcome.state
        change = Change(batch, {"o": given}, {"t": after}, counters, ledger)
        self.store.save(change)
        self.state.settle(change)
        self.store.settle(self.state)
        self.folder.replace_atomically(f"checkpoint/commits/{batch}", b"")
        return [] if emissions is None else [self._said(batch, row) for row in emissions.iter_rows(named=True)]

    def _in_buckets(self, rows: list[Row], tick: BatchTime, batch: int) -> pl.DataFrame | None:
        found = []
        for bucket in range(BUCKETS):
            table = self.partials([row for row in rows if ord(row.key[0]) % BUCKETS == bucket])
            if table is not None:
                place = LocalFolder(Path(self.work.folder) / f"{bucket:04d}")
                place.replace_atomically(f"{batch:010d}.rows", encode({}, {"rows": table}))
            header, tables = decode(self.work.advance(bucket, batch, tick))
            assert "error" not in header, header
            if "emissions" in tables:
                found.append(frame_of(tables["emissions"]))
        return stack(list(found))

    def partials(self, rows: list[Row]) -> pa.Table | None:
        """One row for each group and slice, as the executors give it."""
        assert self.stage.window is not None
        slice_length = self.stage.window.facts().get("advance_us") or self.stage.window.facts()["size_us"]
        groups: dict[tuple[str, int], list[int]] = {}
        for row in rows:
            groups.setdefault((row.key, row.at // slice_length * slice_length), []).append(row.value)
        if not groups:
            return None
        columns: dict[str, pa.Array] = {
            "_k0": pa.array([key for key, _ in groups]),
            SLICE: pa.array([start for _, start in groups], pa.int64()),
            COUNT: pa.array([len(values) for values in groups.values()], pa.int64()),
        }
        for item in self.stage.aggregates:
            for part, column in part_names(item).items():
                is_least = item.call.name == "MIN"
                columns[column] = pa.array([_part(part, values, is_least) for values in groups.values()], _TYPES[part])
        return pa.table(columns)

    def _said(self, batch: int, row: Mapping[str, Any]) -> Said:
        values = []
        for item in self.stage.aggregates:
            parts = {part: row[column] for part, column in part_names(item).items()}
            call = render_expr(item.call)
            value = parts["s"] / parts["n"] if item.call.name == "AVG" and parts["n"] else next(iter(parts.values()))
            values.append((call, None if row[START] < self.begins.get(call, row[START]) else value))
        assert row[END] > row[START]
        return Said(batch, row["_k0"], row[START], tuple(sorted(values)))


def _part(part: str, values: list[int], is_least: bool) -> int:
    """What an aggregate makes of the values of a slice."""
    match part:
        case "n":
            return len(values)
        case "s":
            return sum(values)
        case _:
            return min(values) if is_least else max(values)


def _counted(rows: list[Row]) -> Ledger:
    account = Account(rows_in=len(rows), passed=len(rows))
    ledger = Ledger()
    ledger.statement("o").add(account)
    return ledger


def expected(rows: Iterable[Row], text: Text) -> dict[tuple[str, int], dict[str, int | float]]:
    """What the query gives of all rows: every window of every key."""
    windows: dict[tuple[str, int], list[int]] = {}
    size, advance = text.size * SECOND, text.advance * SECOND
    for row in rows:
        last = row.at // advance * advance
        for start in range(last - size + advance, last + 1, advance):
            windows.setdefault((row.key, start), []).append(row.value)
    return {window: {call: _value(call, values) for call in text.calls} for window, values in windows.items()}


def _value(call: str, values: list[int]) -> int | float:
    match call:
        case "COUNT(*)":
            return len(values)
        case "SUM(v)":
            return sum(values)
        case "MIN(v)":
            return min(values)
        case "MAX(v)":
            return max(values)
        case _:
            return sum(values) / len(values)
