"""A job without Spark: partials in plain Python, the real steps, and the files of a real state folder, in both homes of state."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from windrow.compiler import Compiled, compile_sql
from windrow.connectors.files.manifest import committed_files
from windrow.connectors.files.sink import open_sink
from windrow.connectors.runtime import Output, SinkRequest
from windrow.jobs.cut_overs import as_it_runs, forget_old, is_over
from windrow.jobs.identity import Origin, card_id, claim, read_card, state_parts
from windrow.jobs.switching import JobSwitch, switches_of
from windrow.model.window_kinds import FixedKind
from windrow.observe.ledger import Account, Ledger
from windrow.plan.cut_over import without_old
from windrow.plan.physical.renames import part_names
from windrow.plan.stages import Aggregate, Job
from windrow.plan.window_cut import overlap
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.state.buckets import BucketWork, answered
from windrow.spark.state.job_state import Change, StepInput
from windrow.spark.state.state_file import frame_of
from windrow.spark.state.state_store import StateStore
from windrow.sql import render_expr
from windrow.storage import LocalFolder, folder_name
from windrow.windowing.clock import Clock
from windrow.windowing.columns import COUNT, END, SLICE, START
from windrow.windowing.step import BatchTime, stack

SECOND = 1_000_000
BUCKETS = 2
# By their SQL, which is what a folder keeps.
TEXTS: dict[str, Text] = {}
CALLS = ("COUNT(*)", "SUM(v)", "MIN(v)", "MAX(v)", "AVG(v)")
# The same aggregates of another expression.
DOUBLED = {call: call.replace("(v)", "(v * 2)") for call in CALLS}
_TYPES = {"n": pa.int64(), "s": pa.int64(), "m": pa.int32()}


def column_of(call: str) -> str:
    """What the column of an aggregate is called, whatever stands below it.

    >>> column_of("SUM(v * 2)")
    'c_sum'
    """
    return f"c_{call.partition('(')[0].lower()}"


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
    # WHERE v > above, ALLOWED_LATENESS in seconds, and whether groups are of k as it is or of its capital.
    above: int | None = None
    lateness: int = 0
    is_keyed: bool = True
    offset: int = 0
    folder: str = "in"
    out: str = "out"
    # Windows that start together every ``size`` and end after each ``advance``; HAVING COUNT(*) > having.
    is_cumulative: bool = False
    having: int | None = None

    def keeps(self, row: Row) -> bool:
        return self.above is None or row.value > self.above

    def key_of(self, row: Row) -> str:
        return row.key if self.is_keyed else row.key.upper()

    def sql(self) -> str:
        items = "".join(f", {call} AS {column_of(call)}" for call in self.calls)
        kind = f"TUMBLING({self.size}s{{}})" if self.size == self.advance else f"SLIDING({self.size}s, {self.advance}s{{}})"
        kind = f"CUMULATE({self.advance}s, {self.size}s{{}})" if self.is_cumulative else kind
        kind = kind.format(f" OFFSET {self.offset}s" if self.offset else "")
        key = "k" if self.is_keyed else "UPPER(k)"
        where = "" if self.above is None else f" WHERE v > {self.above}"
        having = "" if self.having is None else f" HAVING COUNT(*) > {self.having}"
        late = f" ALLOWED_LATENESS {self.lateness}s" if self.lateness else ""
        return (
            f"CREATE STREAM t (k STRING, v INT, ts BIGINT) WITH ('connector' = 'files', 'path' = '{self.folder}', 'format' = 'json', "
            f"'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '{self.delay}s');\n"
            f"CREATE STREAM o AS SELECT {key} AS k{items}{self.extra} FROM t{where} GROUP BY {key} WINDOW {kind}{late}{having} "
            f"WITH ('connector' = 'files', 'path' = '{self.out}', 'format' = 'json');"
        )


Window = tuple[str, int, int]


class Said(NamedTuple):
    """One emission: values by column. None where nothing is said of it. ``is_old``: of the text before a cut."""

    batch: int
    key: str
    start: int
    values: tuple[tuple[str, int | float | None], ...]
    end: int = 0
    is_old: bool = False

    @property
    def window(self) -> Window:
        return self.key, self.start, self.end


@dataclass
class PlainJob:
    """``home`` is resident or distributed. Everything that survives is in the folder. ``writes``: emissions go to the real sink, too."""

    folder: Path
    home: str = "resident"
    writes: bool = False
    said: list[Said] = field(default_factory=list)

    @property
    def state_folder(self) -> LocalFolder:
        return LocalFolder(self.folder / "state")

    def compiled(self, text: Text) -> Compiled:
        TEXTS[text.sql()] = text
        return compile_sql(text.sql(), "q.sql", {})

    def switch(self, text: Text) -> JobSwitch:
        return switches_of(self.compiled(text), self.state_folder, "q.sql", {})[0]

    def run(self, text: Text, batches: Iterable[list[Row]], *, is_end: bool = False) -> None:
        """Take batches as a run would: from what is durable, with the text of the present version."""
        compiled = self.compiled(text)
        job = compiled.plan.jobs[0]
        folder = self.state_folder.child(folder_name(job.name))
        claim(folder, job, Origin.of(compiled.script, compiled.plan), has_begun=True)
        run = _Run(folder, job, self.home, text, writes=self.writes)
        for rows in batches:
            self.said += run.take(rows)
        if is_end:
            self.said += run.take([], force=1 << 60)

    def written(self, text: Text) -> list[Said]:
        """What the files of the output hold, in the order of batches."""
        found = []
        for file in committed_files(text.out):
            for row in map(json.loads, Path(file).read_text().splitlines()):
                values = tuple(sorted((name, value) for name, value in row.items() if name.startswith("c_")))
                found.append(Said(row["batch"], row["k"], row["s"], values, row["e"], row["is_old"]))
        return found

    def ledger(self, text: Text) -> Ledger:
        job = self.compiled(text).plan.jobs[0]
        folder = self.state_folder.child(folder_name(job.name))
        return _Run(folder, job, self.home, text).state.ledger


class _Run:
    """``text`` is that of the present version. The one before it, if it still has windows, is in the folder."""

    def __init__(self, folder: LocalFolder, job: Job, home: str, text: Text, *, writes: bool = False) -> None:
        self.folder, self.home, self.text, self._writes = folder, home, text, writes
        card = read_card(folder)
        self.job = as_it_runs(job, folder, card)
        self.begins: Mapping[str, Mapping[str, int]] = card.get("beginnings", {})
        self.state_part, self.buckets_part = state_parts(folder)
        self.store = StateStore(folder.child(self.state_part), 3, meanings=column_meanings(self.job))
        committed = max((int(name) for name in folder.child("checkpoint/commits").names()), default=-1)
        self.store.forget_after(committed)
        self.steps = steps_of(self.job)
        self.state = self.store.load(committed, self.steps)
        self._leave_old_text()

    @property
    def stages(self) -> list[Aggregate]:
        return [stage for stage in self.job.stages if isinstance(stage, Aggregate)]

    def _leave_old_text(self) -> None:
        if len(self.stages) > 1 and is_over(self.job, self.state):
            forget_old(self.job, self.state)
            self.job = without_old(self.job)
            self.steps = steps_of(self.job)

    def take(self, rows: list[Row], force: int | None = None) -> list[Said]:
        batch = self.state.batch_id + 1
        self.folder.replace_atomically(f"checkpoint/offsets/{batch}", b"")
        delay = self.job.reads[0].clock.delay
        clock = self.state.clocks.get("t", Clock.start([0], 0))
        after = clock.advance({0: max(row.at for row in rows)}, 0) if rows else clock
        after = after if force is None else after.force(force)
        tick = BatchTime(clock.watermark(delay), after.watermark(delay), 0)
        counters, ledger = self.state.counters.copy(), Ledger.from_json(self.state.ledger.to_json())
        steps, said = {}, []
        for stage in self.stages:
            taken, account = Taken.of(stage, self.text_of(stage), rows, tick)
            ledger.statement("o").add(account)
            if self.home == "distributed":
                if counters.buckets(stage.name) is None:
                    self._begin_buckets(stage, batch)
                counters.of(stage.name).buckets = BUCKETS
                steps[stage.name], emissions = StepInput(tick, None), self._in_buckets(stage, taken, tick, batch)
            else:
                table = self.partials(stage, taken)
                tables = self.state.tables.get(stage.name, {})
                outcome = self.steps[stage.name].step(tables, self.state.take_schema(stage.name, table), tick)
                steps[stage.name], emissions = StepInput.of(tick, table, outcome), outcome.emissions
                self.state.tables[stage.name] = outcome.state
            if emissions is not None:
                said += [self._said(stage, batch, row) for row in emissions.iter_rows(named=True) if self._is_let_out(stage, row)]
        if self._writes:
            self._write(batch, said)
        change = Change(batch, steps, {"t": after}, counters, ledger)
        self.store.save(change)
        self.state.settle(change)
        self.store.settle(self.state)
        self.folder.replace_atomically(f"checkpoint/commits/{batch}", b"v1\n{}")
        self._leave_old_text()
        return said

    def _write(self, batch: int, said: list[Said]) -> None:
        """By the sink of the job, as rows with what tells emissions apart."""
        write = self.job.writes[0]
        sink = open_sink(None, SinkRequest(write.input, dict(write.options), card_id(self.folder), write.columns, write.key))  # type: ignore[arg-type]  # no frames
        rows = [{"k": e.key, "s": e.start, "e": e.end, "batch": e.batch, "is_old": e.is_old, **dict(e.values)} for e in said]
        table = pa.Table.from_pylist(rows) if rows else pa.table({"k": pa.array([], pa.string())})
        sink.open()
        sink.write(Output(batch, tuple(table.column_names), table))
        sink.close()

    def text_of(self, stage: Aggregate) -> Text:
        """What the stage was made from: the text, or the one before."""
        if stage.cut is None or not stage.cut.is_before:
            return self.text
        card = json.loads(self.folder.read(f"versions/{stage.name.rpartition('v')[2]}.json"))
        return TEXTS[card["sql"]]

    def _begin_buckets(self, stage: Aggregate, batch: int) -> None:
        """A stage that was not there before begins with nothing, wherever the job stands."""
        for bucket in range(BUCKETS):
            self._work(stage).settle_in(bucket, {}, None, batch - 1)

    def _work(self, stage: Aggregate) -> BucketWork:
        return BucketWork(stage, self.folder.child(f"{self.buckets_part}/{folder_name(stage.name)}"), f"{id(self)}", 3, 100)

    def _in_buckets(self, stage: Aggregate, taken: list[Taken], tick: BatchTime, batch: int) -> pl.DataFrame | None:
        found = []
        work = self._work(stage)
        for bucket in range(BUCKETS):
            table = self.partials(stage, [one for one in taken if ord(one.key[0]) % BUCKETS == bucket])
            if table is not None:
                work.put(bucket, batch, "once", table)
            _, tables = answered(work.advance(bucket, batch, tick, None if table is None else "once"))
            if "emissions" in tables:
                found.append(frame_of(tables["emissions"]))
        return stack(list(found))

    def partials(self, stage: Aggregate, taken: list[Taken]) -> pa.Table | None:
        """One row for each group and slice, as the executors give it."""
        assert isinstance(stage.window, FixedKind)
        groups: dict[tuple[str, int], list[int]] = {}
        for one in taken:
            groups.setdefault((one.key, stage.window.slice_start(one.at)), []).append(one.value)
        if not groups:
            return None
        columns: dict[str, pa.Array] = {
            "_k0": pa.array([key for key, _ in groups]),
            SLICE: pa.array([start for _, start in groups], pa.int64()),
            COUNT: pa.array([len(values) for values in groups.values()], pa.int64()),
        }
        for item in stage.aggregates:
            for part, column in part_names(item).items():
                is_least = item.call.name == "MIN"
                told = ([_below(render_expr(item.call), value) for value in values] for values in groups.values())
                columns[column] = pa.array([_part(part, values, is_least) for values in told], _TYPES[part])
        return pa.table(columns)

    def _is_let_out(self, stage: Aggregate, row: Mapping[str, Any]) -> bool:
        least = self.text_of(stage).having
        if least is None:
            return True
        count = next(item for item in stage.aggregates if render_expr(item.call) == "COUNT(*)")
        return bool(row[part_names(count)["n"]] > least)

    def _said(self, stage: Aggregate, batch: int, row: Mapping[str, Any]) -> Said:
        values = []
        begins = self.begins.get(stage.name, {})
        shown = {column_of(call) for call in self.text_of(stage).calls}
        for item in stage.aggregates:
            parts = {part: row[column] for part, column in part_names(item).items()}
            call = render_expr(item.call)
            if column_of(call) not in shown:
                continue
            value = parts["s"] / parts["n"] if item.call.name == "AVG" and parts["n"] else next(iter(parts.values()))
            values.append((column_of(call), None if row[START] < begins.get(call, row[START]) else value))
        assert row[END] > row[START]
        is_old = stage.cut is not None and stage.cut.is_before
        return Said(batch, row["_k0"], row[START], tuple(sorted(values)), row[END], is_old)


class Taken(NamedTuple):
    """A row that a stage counts into its windows."""

    key: str
    value: int
    at: int

    @staticmethod
    def of(stage: Aggregate, text: Text, rows: list[Row], tick: BatchTime) -> tuple[list[Taken], Account]:
        """What the executors do with each row: it is of the stage or not, filtered, late, or taken; and it is accounted for once."""
        kind, cut, account, taken = stage.window, stage.cut, Account(), []
        assert isinstance(kind, FixedKind)
        for row in rows:
            if cut is not None and not cut.is_before and row.at < cut.at:
                continue
            is_own = cut is None or not cut.is_before or row.at < cut.at
            last = kind.last_end(row.at if is_own or cut is None else cut.at - 1)
            is_late = last + stage.lateness <= tick.watermark_before
            if not is_own and (cut is None or not text.keeps(row) or is_late or row.at >= cut.at + overlap(kind)):
                continue
            if is_own:
                account.rows_in += 1
                account.filtered += not text.keeps(row)
                account.dead["WR705"] += text.keeps(row) and is_late
                account.passed += text.keeps(row) and not is_late
            if text.keeps(row) and not is_late:
                taken.append(Taken(text.key_of(row), row.value, row.at))
        return taken, account


def _part(part: str, values: list[int], is_least: bool) -> int:
    """What an aggregate makes of the values of a slice."""
    match part:
        case "n":
            return len(values)
        case "s":
            return sum(values)
        case _:
            return min(values) if is_least else max(values)


def expected(rows: Iterable[Row], text: Text) -> dict[Window, dict[str, int | float]]:
    """What the query gives of all rows: every window of every key."""
    windows: dict[Window, list[int]] = {}
    for row in rows:
        for start, end in _windows(row.at, text) if text.keeps(row) else ():
            windows.setdefault((text.key_of(row), start, end), []).append(row.value)
    let_out = {window: values for window, values in windows.items() if text.having is None or len(values) > text.having}
    return {window: {column_of(call): _value(call, values) for call in text.calls} for window, values in let_out.items()}


def _windows(at: int, text: Text) -> list[tuple[int, int]]:
    size, advance, offset = text.size * SECOND, text.advance * SECOND, text.offset * SECOND
    if text.is_cumulative:
        first = at // size * size
        return [(first, end) for end in range(first + advance, first + size + 1, advance) if end > at]
    last = (at - offset) // advance * advance + offset
    starts = range(last - (size - 1) // advance * advance, last + 1, advance)
    return [(start, start + size) for start in starts if start <= at < start + size]


def _below(call: str, value: int) -> int:
    """What stands below an aggregate."""
    return value * 2 if "v * 2" in call else value


def _value(call: str, taken: list[int]) -> int | float:
    values = [_below(call, value) for value in taken]
    match column_of(call):
        case "c_count":
            return len(values)
        case "c_sum":
            return sum(values)
        case "c_min":
            return min(values)
        case "c_max":
            return max(values)
        case _:
            return sum(values) / len(values)
