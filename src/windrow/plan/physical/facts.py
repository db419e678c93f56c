"""What is known of a run: what the physical plan depends on beside the job. Without a run, what its files and defaults tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.connectors.registry import CONNECTORS
from windrow.model.policies import StateBackendSetting
from windrow.plan.stages import Job, Read


@dataclass(frozen=True)
class SourceFacts:
    """``text_format`` is that of rows which the source hands over as text; None where they come as columns.

    ``partitions`` is None where a running source does not know them. ``keeps_original``: a dead letter keeps something else than that
    text. ``has_fast_scan``: the source has another, faster way to the rows of most batches. ``has_arrow``: the workers have Arrow.
    """

    text_format: str | None = None
    partitions: int | None = 1
    keeps_original: bool = False
    has_fast_scan: bool = False
    has_arrow: bool = True

    @property
    def is_text(self) -> bool:
        return self.text_format is not None


@dataclass(frozen=True)
class StateFacts:
    """The settings of the state. ``can_move``: its folder is one that all executors see."""

    backend: StateBackendSetting = StateBackendSetting.AUTO
    can_move: bool = True
    resident_max_bytes: int = 1 << 30
    buckets: int = 8


@dataclass(frozen=True)
class RunWishes:
    """What the settings of a run say that decides how operators work. ``is_bounded``: it takes what is there and ends."""

    state: StateFacts = StateFacts()
    has_fast_paths: bool = True
    is_bounded: bool = False


NO_WISHES = RunWishes()


@dataclass(frozen=True)
class RunFacts:
    """``counting_sinks`` are statements whose sinks count the rows that they read.

    The rest is found out while a job runs, and the plan is made again when it changes: ``on_executors`` are the aggregations whose state
    has moved there, ``not_numeric`` those whose running totals turned out to be of other things than numbers.
    """

    sources: Mapping[str, SourceFacts] = field(default_factory=dict)
    counting_sinks: frozenset[str] = frozenset()
    has_ticks: bool = False
    state: StateFacts = StateFacts()
    on_executors: frozenset[str] = frozenset()
    not_numeric: frozenset[str] = frozenset()

    def source(self, name: str) -> SourceFacts:
        return self.sources.get(name, SourceFacts())


def expected_facts(job: Job, wishes: RunWishes) -> RunFacts:
    """For a run on this machine that has not begun, with such settings."""
    unbuffered = (write for write in job.writes if not write.outage.is_buffered)
    counting = frozenset(write.input for write in unbuffered if CONNECTORS[write.connector].counts_rows(dict(write.options)))
    sources = {read.name: _source_facts(read, has_fast_scan=wishes.has_fast_paths) for read in job.reads}
    return RunFacts(sources, counting, job.needs_ticks and not wishes.is_bounded, wishes.state)


def _source_facts(read: Read, *, has_fast_scan: bool) -> SourceFacts:
    spec, options = CONNECTORS[read.connector], dict(read.options)
    shape = spec.source_shape(options)
    stated = options.get("partitions", "")
    partitions = int(stated) if stated.isdecimal() else spec.source_partitions or 1
    return SourceFacts(shape.text_format, partitions, shape.keeps_original, shape.has_fast_scan and has_fast_scan)
