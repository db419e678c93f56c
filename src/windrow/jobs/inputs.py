"""The sources of a running job: opened, mixed into the one frame that Spark reads, and picked apart again in each batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import ORIGINAL, Reading, SourceRequest, SourceStream
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.connector_loader import connector_of
from windrow.jobs.identity import NOTES
from windrow.jobs.options import RunOptions
from windrow.jobs.pacing import Pacing
from windrow.jobs.progress import LoadWatch
from windrow.observe.status import TableLoad, UnreadFile, WindowCounts
from windrow.plan.physical import OperatorSpec, PhysicalPlan, RunFacts, SourceFacts
from windrow.plan.physical.scans import decoding_choice
from windrow.plan.physical.strategies import Scan
from windrow.plan.stages import Job, Read
from windrow.spark.query.runner import GIVEN, LazyRelation
from windrow.spark.scan.arrow_json import has_arrow
from windrow.spark.scan.dead_letter_scan import replayed_rows
from windrow.spark.scan.row_order import needs_order
from windrow.spark.scan.row_reader import RowReader, without_pushdown
from windrow.spark.scan.source_multiplexer import multiplex_sources, source_of_multiplex
from windrow.storage import Folder, folder_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Inputs:
    """``partitions`` are those of each source, as the clock numbers them; a source may get more while it is read."""

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        options: RunOptions,
        folder: Folder,
        checkpoint: Checkpoint,
        stopping: threading.Event,
        on_load: Callable[[TableLoad], None],
        pacing: Pacing,
    ) -> None:
        self._spark = spark
        self._job = job
        self._options = options
        self._folder = folder
        self._stopping = stopping
        self._unread: tuple[int | None, tuple[UnreadFile, ...]] = None, ()
        self._on_load = on_load
        self._pacing = pacing
        self._is_ordered = needs_order(job)
        self._checkpoint = checkpoint
        self._streams: dict[str, SourceStream] = {}
        self._reads: dict[str, Read] = {}
        self._readers: dict[tuple[str, Scan], RowReader] = {}
        self.partitions: dict[str, tuple[int, ...] | None] = {}
        # How far the last batch read each source, for those that say so.
        self._reached: dict[str, Mapping[str, Any]] = {}
        # Rows that each partition brought to the batch under way, as the offsets tell.
        self.arrived: dict[str, dict[int, int]] = {}

    def open(self) -> None:
        """At the start, and again after an outage."""
        self._readers = {}
        for read in self._job.reads:
            stream = self._open_source(read)
            self._streams[read.name] = stream
            self._reads[read.name] = without_pushdown(read, stream)
            self.partitions[read.name] = self.partition_ids(stream)

    @property
    def facts(self) -> RunFacts:
        """What the physical plan asks of the sources."""
        return RunFacts({read.name: self._facts_of(read.name) for read in self._job.reads}, has_ticks=self.has_ticks)

    def _facts_of(self, source: str) -> SourceFacts:
        stream, partitions = self._streams[source], self.partitions[source]
        facts = SourceFacts(
            stream.format,
            None if partitions is None else len(partitions),
            keeps_original=ORIGINAL in stream.frame.columns,
            has_fast_scan=stream.speculative is not None,
        )
        # The workers are asked only where it matters.
        may_use_arrow = facts.is_text and decoding_choice(self._reads[source], facts).strategy is Scan.ARROW_JSON
        return replace(facts, has_arrow=has_arrow(self._spark)) if may_use_arrow else facts

    def close(self) -> None:
        for stream in self._streams.values():
            if stream.reading is not None:
                stream.reading.close()

    def partition_ids(self, stream: SourceStream) -> tuple[int, ...] | None:
        return tuple(range(stream.partitions)) if isinstance(stream.partitions, int) else stream.partitions

    def reports(self) -> tuple[tuple[WindowCounts, ...], tuple[UnreadFile, ...]]:
        """How far the sources are that hand over whole windows, and the files that sources went on without."""
        told = [(read.name, connector_of(read.connector).report(self._notes_folder(read))) for read in self._job.reads]
        windows = [(name, report.ahead) for name, report in told]
        return (
            tuple(WindowCounts(name, ahead.safe, ahead.waiting, ahead.late_rows) for name, ahead in windows if ahead is not None),
            tuple(UnreadFile(name, path, why) for name, report in told for path, why in sorted(report.unread.items())),
        )

    def unread_files(self, batch_id: int) -> tuple[UnreadFile, ...]:
        """Those that sources went on without, as of a batch: looked up once for each."""
        if self._unread[0] != batch_id:
            self._unread = batch_id, self.reports()[1]
        return self._unread[1]

    def _notes_folder(self, read: Read) -> str:
        return f"{self._folder.path}/{NOTES}/{folder_name(read.name)}"

    def _open_source(self, read: Read) -> SourceStream:
        request = SourceRequest(
            read.name,
            read.columns,
            {**dict(read.options), **self._pacing.options_of(read.name)},
            is_bounded=self._options.mode != "continuous",
            is_ended=self._options.mode == "until_end",
            needs_order=self._is_ordered,
            job=self._job.name,
            folder=self._notes_folder(read),
            stopping=self._stopping,
        )
        return connector_of(read.connector).open_source(self._spark, request)

    def open_table(self, read: Read, since: str | None = None) -> SourceStream:
        request = SourceRequest(
            read.name,
            read.columns,
            dict(read.options),
            is_bounded=True,
            is_table=True,
            since=since,
            progress=LoadWatch(read.name, self._on_load),
            stopping=self._stopping,
        )
        return connector_of(read.connector).open_source(self._spark, request)

    @property
    def mixed(self) -> DataFrame:
        """What the streaming query reads."""
        return multiplex_sources(self._spark, {name: stream.frame for name, stream in self._streams.items()}, with_ticks=self.has_ticks)

    @property
    def has_ticks(self) -> bool:
        """A run that ends with its input needs none."""
        return self._job.needs_ticks and self._options.mode == "continuous"

    def prepare(self, plan: PhysicalPlan) -> None:
        """Before the query starts: a function that decodes is known to its batches only if its session knew it by then."""
        for read in self._job.reads:
            self._reader(plan.of(read.name))

    def rows(self, frame: DataFrame, now: int, plan: PhysicalPlan) -> dict[str, LazyRelation]:
        """The rows of a micro-batch, by source, decoded as the plan has it."""
        is_mixed = len(self._job.reads) > 1 or self.has_ticks
        picked = {read.name: source_of_multiplex(read.name, GIVEN) if is_mixed else GIVEN for read in self._job.reads}
        return {name: self._reader(plan.of(name)).rows(frame, now, own) for name, own in picked.items()}

    def _reader(self, spec: OperatorSpec) -> RowReader:
        scan = spec.choice(Scan)
        assert scan is not None, "a source is decoded in some way"
        # Another way to the same rows is tried by who asks for them; these are the rows for whatever it does not do for.
        way = scan.otherwise or scan.strategy
        assert isinstance(way, Scan)
        key = spec.name, way
        if key not in self._readers:
            self._readers[key] = RowReader(self._reads[spec.name], self._streams[spec.name], way, needs_order=self._is_ordered)
        return self._readers[key]

    def replayed(self, source: str, letters: Sequence[Mapping[str, Any]], session: SparkSession, now: int) -> DataFrame:
        """The rows of dead letters, with the columns that the rows of their source have."""
        return replayed_rows(session, self._reads[source], self._streams[source], letters, now)

    def readings(self, batch_id: int) -> list[tuple[str, Reading, dict[str, Any]]]:
        """The sources that want to know how far a batch reads them, with that. Partitions that are new by then get a clock."""
        names = [read.name for read in self._job.reads]
        if all(self._streams[name].reading is None for name in names):
            return []
        offsets = zip(names, self._checkpoint.offsets_of(batch_id), strict=False)
        found = [(name, reading, offset) for name, offset in offsets if (reading := self._streams[name].reading) is not None]
        self.arrived = {name: reading.rows(self._reached[name], offset) for name, reading, offset in found if name in self._reached}
        self._reached = {name: offset for name, _, offset in found}
        for name, reading, offset in found:
            self.partitions[name] = tuple(sorted({*(self.partitions[name] or ()), *reading.partitions_at(offset)}))
        return found

    def stated_watermarks(self, batch_id: int) -> dict[str, int]:
        """From Spark's own log of what the batch reads up to, so a batch that runs again sees the same."""
        if all(CONNECTORS[read.connector].watermark is None for read in self._job.reads):
            return {}
        offsets = zip(self._job.reads, self._checkpoint.offsets_of(batch_id), strict=False)
        stated = {read.name: connector_of(read.connector).watermark_of(offset) for read, offset in offsets}
        return {name: watermark for name, watermark in stated.items() if watermark is not None}
