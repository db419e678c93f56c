"""The share of a stage's state that one executor task works on: a bucket of its groups, with files of its own.

A bucket is a small job state: it takes its rows of a batch, runs the same pure step, and keeps a change file a batch and a snapshot
now and then, as the driver does for state that lives there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.zones import labelled
from windrow.errors import JobError, WindrowError
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
from windrow.storage import Files
from windrow.windowing.columns import SLICE
from windrow.windowing.step import BatchTime

BUCKET = "_bucket"
PAYLOAD = pa.schema([("payload", pa.binary())])
_ROWS = "rows"
_FATES = "fates"
_FILLED = "filled"
_ERROR = "error"

# State that this worker process holds from the batch before, by folder. Another worker may have had the last batch: the change
# files say what is missing here.
_held: dict[str, tuple[str, JobState]] = {}


@dataclass(frozen=True)
class BucketWork:
    """What a task needs to know. ``life`` tells one run of a job from another: nothing is held over from one to the next."""

    stage: Aggregate
    folder: Files
    life: str
    snapshot_every: int
    retain: int

    def receive(self, batch_id: int, attempt: str, names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Put the rows of a batch into their buckets, and give back what the driver records: whatever was set aside, and sums.

        The columns come under names that Spark's optimiser may have changed, so their own are given. ``attempt`` tells one try of a
        batch from another: what a task that everybody had given up writes after all is never read.
        """
        try:
            payloads = list(self._receive(batch_id, attempt, names, batches))
        except WindrowError as error:
            payloads = [_refusal(error)]
        for payload in payloads:
            yield pa.RecordBatch.from_pydict({"payload": [payload]}, PAYLOAD)

    def _receive(self, batch_id: int, attempt: str, names: list[str], batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
        there = [batch for batch in batches if batch.num_rows]
        if not there:
            return
        partials = labelled(pa.Table.from_batches(there))
        nullable = [field.with_name(name).with_nullable(True) for name, field in zip(names, partials.schema, strict=True)]
        partials = pa.table(partials.columns, schema=pa.schema(nullable))
        kept = partials.filter(pc.equal(partials[JUDGED], Fate.OK.value))
        filled = pc.unique(kept[BUCKET]).to_pylist()
        for bucket in filled:
            rows = kept_rows(kept.filter(pc.equal(kept[BUCKET], bucket))).drop_columns([BUCKET])
            self.put(bucket, batch_id, attempt, rows)
        aside = partials.filter(pc.not_equal(partials[JUDGED], Fate.OK.value))
        fates = pa.concat_tables([aside, _summed(kept)]).drop_columns([BUCKET])
        yield encode({_FILLED: filled}, {_FATES: fates})

    def put(self, bucket: int, batch_id: int, attempt: str, rows: pa.Table) -> None:
        """The rows of a bucket, for its step."""
        self._place(bucket).replace_atomically(_rows_name(batch_id, attempt), encode({}, {_ROWS: rows}))

    def advance(self, bucket: int, batch_id: int, tick: BatchTime, attempt: str | None = None) -> bytes:
        """Run the step of one bucket and make it durable. Gives its emissions, or the error that stops the job.

        ``attempt``: the try of the batch that has put rows into this bucket; None where it has none.
        """
        try:
            return self._advance(bucket, batch_id, tick, attempt)
        except WindrowError as error:
            return _refusal(error)

    def _advance(self, bucket: int, batch_id: int, tick: BatchTime, attempt: str | None) -> bytes:
        name, step = self.stage.name, build_step(self.stage)
        folder = self._place(bucket)
        store = self.store(bucket)
        life, known = _held.pop(folder.path, ("", JobState()))
        is_older = life == self.life and known.batch_id < batch_id
        state = store.load(batch_id - 1, {name: step}, known if is_older else None)
        rows, carried = None, None
        if attempt is not None:
            _, tables = decode(folder.read(_rows_name(batch_id, attempt)))
            rows, carried = without_carried(tables[_ROWS])
        outcome = step.step(state.tables.get(name, {}), state.take_schema(name, rows), tick)
        change = Change(batch_id, {name: StepInput.of(tick, rows, outcome)}, {}, JobCounters(), Ledger())
        store.save(change)
        state.tables[name] = outcome.state
        state.settle(change)
        store.settle(state)
        if attempt is not None:
            folder.remove(_rows_name(batch_id, attempt))
        if store.is_snapshot_due(batch_id):
            _sweep(folder, batch_id)
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

    def _place(self, bucket: int) -> Files:
        return self.folder.child(f"{bucket:04d}")


def fates_of(payloads: pa.ChunkedArray) -> tuple[list[pa.Table], frozenset[int]]:
    """What tasks that took rows in have told: the fates, and the buckets that have rows. Raises what one of them failed with."""
    answers = [answered(payload) for payload in payloads.to_pylist()]
    return [tables[_FATES] for _, tables in answers], frozenset(bucket for header, _ in answers for bucket in header[_FILLED])


def answered(payload: bytes) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """What a task says; the error that it failed with is raised here."""
    header, tables = decode(payload)
    if _ERROR in header:
        raise JobError(*header[_ERROR])
    return header, tables


def _refusal(error: WindrowError) -> bytes:
    return encode({_ERROR: [error.code, error.message, error.hint]}, {})


def _rows_name(batch_id: int, attempt: str) -> str:
    return f"{batch_id:010d}-{attempt}.rows"


def _sweep(folder: Files, batch_id: int) -> None:
    """Rows of tries that came to nothing."""
    for name in folder.names():
        if name.endswith(".rows") and int(name[:10]) < batch_id:
            folder.remove(name)


def _summed(kept: pa.Table) -> pa.Table:
    """Rows that go to the step, as the driver records them: sums by slice, in a table of the same shape."""
    sums = {name: "sum" for name in (ROWS_COUNT, INCLUDED) if name in kept.column_names}
    sums.update({name: "max" for name in kept.column_names if name.startswith(CLOCK)})
    found = kept.group_by([SLICE, JUDGED]).aggregate(list(sums.items()))
    named = {**{name: found[f"{name}_{how}"] for name, how in sums.items()}, SLICE: found[SLICE], JUDGED: found[JUDGED]}
    columns = [named[field.name].cast(field.type) if field.name in named else pa.nulls(found.num_rows, field.type) for field in kept.schema]
    return pa.table(columns, schema=kept.schema)
