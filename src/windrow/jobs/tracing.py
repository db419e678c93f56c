"""The traces of a job's batches: what links to whom, and when a batch is told of.

Spans are made when a batch is committed, from what was measured anyway. A batch that fails is a span with its error; the attempt that
succeeds has the parts. Off by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import WriteTrace
from windrow.errors import WindrowError
from windrow.jobs.options import TRACES_ENDPOINT, TRACES_PROTOCOL, TRACES_SAMPLE, RunOptions
from windrow.jobs.span_export import SpanExport, span_export
from windrow.observe.batch_trace import Operator, TracedBatch, Value, attempt_span, spans_of, write_span
from windrow.observe.traces import Link, Producers, batch_trace_id
from windrow.plan.headers import follows_context
from windrow.plan.stages import Job, Read, Stage, Write
from windrow.spark.execution.batch import BatchResult
from windrow.spark.execution.measurements import BatchMeasurements

_SERVICE = "windrow"


@dataclass
class _OpenWrite:
    """The trace of one output of the batch under way."""

    traceparent: str
    follows: bool
    producers: Producers = field(default_factory=Producers)

    def see(self, headers: Iterable[str | bytes | None], window_starts: Sequence[int | None] = (), /) -> None:
        self.producers.see(headers, window_starts)


class Tracing:
    """Of one job in one run, batch by batch: from one thread."""

    def __init__(self, job: Job, job_id: str, export: SpanExport, sample_percent: int = 100) -> None:
        self._job, self._id, self._export, self._percent = job, job_id, export, sample_percent
        self._operators = {stage.name: _operator(stage) for stage in job.stages}
        self._writes: dict[str, _OpenWrite] = {}
        self._attempts: dict[int, int] = {}
        # Of this run, as far as they were looked at.
        self.rows_seen, self.rows_with_context = 0, 0

    def is_sampled(self, batch_id: int) -> bool:
        """Decided by the trace id, so that it is the same whenever the batch runs, here and in any sampler that follows it."""
        return batch_trace_id(self._id, batch_id) % 100 < self._percent

    def write_trace(self, batch_id: int, write: Write) -> WriteTrace | None:
        if not self.is_sampled(batch_id):
            return None
        return self._writes.setdefault(write.name, _OpenWrite(str(write_span(self._id, batch_id, write.name)), self._follows(write.name)))

    def _follows(self, name: str) -> bool:
        """Not where rows of a source may be among them whose contexts are not to be looked at."""
        stage = self._job.stage(name)
        return follows_context(stage) if isinstance(stage, Read) else all(self._follows(each) for each in stage.inputs)

    def committed(self, result: BatchResult, producers: Producers | None = None) -> None:
        about: dict[str, Value] = {
            "messaging.batch.message_count": result.ledger.rows_in,
            "windrow.dead_letters": sum(result.ledger.dead_letters.values()),
        }
        for name, account in result.ledger.sources.items():
            about[f"windrow.source.{name}.rows_in"] = account.rows_in
        for name, statement in result.ledger.statements.items():
            about[f"windrow.statement.{name}.rows_in"] = statement.rows_in
            about[f"windrow.statement.{name}.emitted"] = statement.emitted
        seen = producers or Producers()
        for one in (seen, *(own.producers for own in self._writes.values())):
            self.rows_seen += one.looked_at
            self.rows_with_context += one.with_context
        self._send(result.batch_id, result.measured, about, tuple(seen.links.values()))
        self._attempts.pop(result.batch_id, None)

    def attempt_id(self, batch_id: int, measured: BatchMeasurements) -> str:
        """The span of this attempt, as logs name it."""
        return f"{attempt_span(self._id, batch_id, self._attempts.get(batch_id, 1), measured.started):016x}"

    @contextmanager
    def attempt(self, batch_id: int, measured: BatchMeasurements) -> Iterator[None]:
        """Tells of a batch that fails."""
        try:
            yield
        except Exception as error:
            kind, text = (
                (error.code, f"[{error.code}] {error.message}") if isinstance(error, WindrowError) else (type(error).__name__, None)
            )
            self._send(batch_id, measured, {"error.type": kind}, (), text or kind)
            self._attempts[batch_id] = self._attempts.get(batch_id, 1) + 1
            raise

    def _send(
        self,
        batch_id: int,
        measured: BatchMeasurements,
        about: dict[str, Value],
        links: tuple[Link, ...],
        error: str | None = None,
    ) -> None:
        written = {name: tuple(one.producers.links.values()) for name, one in self._writes.items()}
        self._writes = {}
        if not self.is_sampled(batch_id):
            return
        batch = TracedBatch(
            self._job.name,
            self._id,
            batch_id,
            self._attempts.get(batch_id, 1),
            measured.started,
            measured.now,
            [_Told(one.phase.value, one.operator, one.start, one.end) for one in measured.stretches],
            self._operators,
            about,
            links,
            written,
            error,
        )
        self._export.send(spans_of(batch))

    def close(self) -> None:
        self._export.close()


@dataclass(frozen=True)
class _Told:
    phase: str
    operator: str | None
    start: int
    end: int


def tracing(job: Job, job_id: str, options: RunOptions) -> Tracing | None:
    """None where no collector is named."""
    endpoint = options.setting(TRACES_ENDPOINT)
    if not endpoint:
        return None
    export = span_export(endpoint, options.setting(TRACES_PROTOCOL), _SERVICE)
    return Tracing(job, job_id, export, int(options.setting(TRACES_SAMPLE)))


def _operator(stage: Stage) -> Operator:
    kind = type(stage).__name__
    if not isinstance(stage, Write):
        return Operator(kind, stage.name)
    about: dict[str, Value] = {"windrow.connector": stage.connector}
    messages = CONNECTORS[stage.connector].messages(dict(stage.options))
    if messages is not None:
        about |= {
            "messaging.system": messages.system,
            "messaging.operation.type": "send",
            "messaging.destination.name": messages.destination,
        }
    return Operator(kind, stage.input, about, is_producer=messages is not None)
