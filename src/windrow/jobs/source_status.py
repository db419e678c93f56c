"""How far each source has come: its partitions by the clock of the job, and what Spark says is still to be read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from windrow.observe.status import PartitionStatus, SourceStatus
from windrow.plan.stages import Read

if TYPE_CHECKING:
    from windrow.spark.execution.executor import BatchExecutor
    from windrow.windowing.clock import Clock


def source_statuses(executor: BatchExecutor) -> tuple[SourceStatus, ...]:
    return tuple(_source(read, executor.state.clocks.get(read.name)) for read in executor.job.reads)


def _source(read: Read, clock: Clock | None) -> SourceStatus:
    if clock is None:
        return SourceStatus(read.name)
    idle = set(clock.idle(read.clock.idle_timeout))
    found = (
        PartitionStatus(
            number, own.greatest, None if own.greatest is None else own.greatest - read.clock.delay, own.seen_at, number in idle
        )
        for number, own in sorted(clock.partitions.items())
    )
    return SourceStatus(read.name, tuple(found), clock.now)


def with_backlogs(
    statuses: Sequence[SourceStatus], told: Sequence[Mapping[str, Any]], behind: Mapping[int, float] | None = None
) -> tuple[SourceStatus, ...]:
    """``told`` is what Spark says of each source after a batch, in the order in which the job reads them; ``behind`` by the same order."""
    padded = [*told, *({} for _ in range(len(statuses) - len(told)))]
    return tuple(
        replace(status, backlog=backlog_rows(own), backlog_files=files_left(own), behind_seconds=(behind or {}).get(place))
        for place, (status, own) in enumerate(zip(statuses, padded, strict=False))
    )


def backlog_rows(told: Mapping[str, Any]) -> dict[str, int] | None:
    """Rows that are there and not read yet, by partition, of a source whose offsets count rows.

    >>> backlog_rows({"endOffset": '{"t":{"0":5,"1":7}}', "latestOffset": '{"t":{"0":9,"1":7}}'})
    {'0': 4, '1': 0}
    """
    read, there = offsets(told.get("endOffset")), offsets(told.get("latestOffset"))
    if read is None or there is None:
        return None
    found: dict[str, int] = {}
    for topic, partitions in there.items():
        for partition, latest in partitions.items():
            name = partition if len(there) == 1 else f"{topic}/{partition}"
            found[name] = max(0, latest - read.get(topic, {}).get(partition, 0))
    return found


def offsets(given: Any) -> dict[str, dict[str, int]] | None:
    """Offsets as Kafka has them: {topic: {partition: offset}}. None for those of other sources."""
    try:
        found = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        return None
    is_by_topic = isinstance(found, Mapping) and all(isinstance(own, Mapping) for own in found.values())
    if not found or not is_by_topic or not all(isinstance(at, int) for own in found.values() for at in own.values()):
        return None
    return {topic: dict(own) for topic, own in found.items()}


def files_left(told: Mapping[str, Any]) -> int | None:
    text = str((told.get("metrics") or {}).get("numFilesOutstanding", ""))
    return int(text) if text.isdecimal() else None
