"""The share of a stage's state that one executor task works on: a bucket of its groups, with files of its own.

A bucket is a small job state: it takes its rows of a batch, runs the same pure step, and keeps a change file a batch and a snapshot
now and then, as the driver does for state that lives there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.zones import labelled
from windrow.errors import WindrowError
from windrow.model.fate import Fate
from windrow.observe.ledger import Ledger
from windrow.plan.stages import Aggregate
from windrow.spark.operators.steps import build_step
from windrow.spark.row_columns import CLOCK, INCLUDED, JUDGED, ROWS_COUNT
from windrow.spark.state.backend import kept_rows, refused_rows, without_carried
from windrow.spark.state.columns import aggregate_meanings
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import Change, JobState, StepInput
from windrow.spark.state.state_file import decode, encode
from windrow.spark.state.state_store import StateStore
from windrow.storage import LocalFolder
from windrow.windowing.columns import SLICE
from windrow.windowing.step import BatchTime

BUCKET = "_bucket"
PAYLOAD = pa.schema([("payload", pa.binary())])
_ROWS = "rows"
_FATES = "fates"

# State that this worker process holds from the batch before, by folder. Another worker may have had the last batch: the change
# files say what is missing here.
_held: dict[str, tuple[str, JobState]] = {}


@dataclass(frozen=True)
class BucketWork:
    """What a task needs to know. ``life`` tells one run of a job from another: nothing is held over from one to the next."""

    stage: Aggregate
    folder: str
    life: str
    snapshot_every: int
    retain: int

    def receive(self, batch_id: int, names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the rows of a batch into their buckets, and give back what the driver records: whatever was set aside, and sums.

        The columns come under names that Spark's optimiser may have changed, so their own are given.
        """
        there = [batch for batch in batches if batch.num_rows]
        if not there:
            return
        partials = labelled(pa.Table.from_batches(there))
        nullable = [field.with_name(name).with_nullable(True) for name, field in zip(names, partials.schema, strict=True)]
        partials = pa.table(partials.columns, schema=pa.schema(nullable))
        kept = partials.filter(pc.equal(partials[JUDGED], Fate.OK.value))
        for bucket in pc.unique(kept[BUCKET]).to_pylist():
            rows = kept_rows(kept.filter(pc.equal(kept[BUCKET], bucket))).drop_columns([BUCKET])
            self._place(bucket).replace_atomically(_rows_name(batch_id), encode({}, {_ROWS: rows}))
        aside = partials.filter(pc.not_equal(partials[JUDGED], Fate.OK.value))
        fates = pa.concat_tables([aside, _summed(kept)]).drop_columns([BUCKET])
        yield pa.RecordBatch.from_pydict({"payload": [encode({}, {_FATES: fates})]}, PAYLOAD)

    def advance(self, bucket: int, batch_id: int, tick: BatchTime) -> bytes:
        """Run the step of one bucket and make it durable. Gives its emissions, or the error that stops the job."""
        try:
            return self._advance(bucket, batch_id, tick)
        except WindrowError as error:
            return encode({"error": [error.code, error.message, error.hint]}, {})

    def _advance(self, bucket: int, batch_id: int, tick: BatchTime) -> bytes:
        name, step = self.stage.name, build_step(self.stage)
        folder = self._place(bucket)
        store = self.store(bucket)
        life, known = _held.pop(folder.path, ("", JobState()))
        is_older = life == self.life and known.batch_id < batch_id
        state = store.load(batch_id - 1, {name: step}, known if is_older else None)
        rows, carried = None, None
        if _rows_name(batch_id) in folder.names():
            _, tables = decode(folder.read(_rows_name(batch_id)))
            rows, carried = without_carried(tables[_ROWS])
        outcome = step.step(state.tables.get(name, {}), state.take_schema(name, rows), tick)
        change = Change(batch_id, {name: StepInput.of(tick, rows, outcome)}, {}, JobCounters(), Ledger())
        store.save(change)
        state.tables[name] = outcome.state
        state.settle(change)
        store.settle(state)
        folder.remove(_rows_name(batch_id))
        _held[folder.path] = (self.life, state)
        given: dict[str, pa.Table] = {}
        if outcome.emissions is not None and outcome.emissions.height:
            given["emissions"] = outcome.emissions.to_arrow()
            # Spark's own types of the parts, which the step's table has only nearly.
            given["types"] = state.schemas[name].empty_table()
        refused = refused_rows(outcome, carried)
        if refused is not None:
            given["refused"] = refused
        return encode({"bytes": state.bytes_held, "rows": sum(table.height for table in outcome.state.values())}, given)

    def open_windows(self, bucket: int, batch_id: int) -> bytes:
        step = build_step(self.stage)
        state = self.store(bucket).load(batch_id, {self.stage.name: step})
        windows = step.open_windows(state.tables.get(self.stage.name, {}))
        return encode({"bytes": state.bytes_held}, {} if windows is None else {"windows": windows.to_arrow()})

    def settle_in(self, bucket: int, tables: dict[str, pl.DataFrame], schema: pa.Schema | None, batch_id: int) -> None:
        """The state that a bucket starts with."""
        state = JobState(batch_id, {self.stage.name: tables})
        if schema is not None:
            state.schemas[self.stage.name] = schema
        self.store(bucket).snapshot(state)

    def store(self, bucket: int) -> StateStore:
        return StateStore(
            self._place(bucket),
            self.snapshot_every,
            self.retain,
            stagger=bucket,
            meanings={self.stage.name: aggregate_meanings(self.stage)},
        )

    def _place(self, bucket: int) -> LocalFolder:
        return LocalFolder(Path(self.folder) / f"{bucket:04d}")


def fates_of(payloads: pa.ChunkedArray) -> list[pa.Table]:
    return [decode(payload)[1][_FATES] for payload in payloads.to_pylist()]


def _rows_name(batch_id: int) -> str:
    return f"{batch_id:010d}.rows"


def _summed(kept: pa.Table) -> pa.Table:
    """Rows that go to the step, as the driver records them: sums by slice, in a table of the same shape."""
    sums = {name: "sum" for name in (ROWS_COUNT, INCLUDED) if name in kept.column_names}
    sums.update({name: "max" for name in kept.column_names if name.startswith(CLOCK)})
    found = kept.group_by([SLICE, JUDGED]).aggregate(list(sums.items()))
    named = {**{name: found[f"{name}_{how}"] for name, how in sums.items()}, SLICE: found[SLICE], JUDGED: found[JUDGED]}
    columns = [named[field.name].cast(field.type) if field.name in named else pa.nulls(found.num_rows, field.type) for field in kept.schema]
    return pa.table(columns, schema=kept.schema)
