"""Which writer an output has: by its 'on.unavailable'."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.connectors.outage_options import FAILOVER, HALT, SPILL, WAIT
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Sink, SinkRequest
from windrow.errors import UsageError, WindrowError
from windrow.jobs.connector_loader import connector_of
from windrow.jobs.output_writers import FAILOVER_COLUMN, DirectWriter, DroppingWriter, FailoverWriter, HaltingWriter, OutputWriter, Place
from windrow.jobs.spill import SPILL as FOLDER
from windrow.jobs.spill import SpillFolder
from windrow.jobs.spilling import SpillingWriter
from windrow.model.types import STRING, ColumnDef
from windrow.plan.stages import Write
from windrow.storage import Folder, folder_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RETRIES = "retry.timeout"


@dataclass(frozen=True)
class Opening:
    """What outputs need of their job."""

    spark: SparkSession
    folder: Folder
    job_id: str
    stopping: threading.Event
    check: Callable[[], None]
    failed: Callable[[WindrowError], None]


def spill_folder(job: Folder, statement: str) -> SpillFolder:
    return SpillFolder(job.child(f"{FOLDER}/{folder_name(statement)}"))


def writer_of(write: Write, opening: Opening, committed: int) -> OutputWriter:
    place = Place(spill_folder(opening.folder, write.input), committed, opening.stopping, opening.check, opening.failed)
    sink = _own_sink(write, opening)
    if write.outage.policy == SPILL:
        return SpillingWriter(write, sink, place)
    if place.spill.recover(committed):
        raise UsageError(
            "WR834",
            f"rows still wait for the output {write.input} in {place.spill.path}, and its 'on.unavailable' is {write.outage.policy}",
            "run with 'on.unavailable' = 'spill' until they are delivered (windrow run ... --once)",
        )
    if write.outage.policy == WAIT:
        return DirectWriter(sink)
    if write.outage.policy == HALT:
        return HaltingWriter(write, sink, place)
    if write.outage.policy == FAILOVER:
        other, has_headers = _other_sink(write, opening)
        return FailoverWriter(write, sink, place, other, has_headers=has_headers)
    return DroppingWriter(write, sink, place)


def _own_sink(write: Write, opening: Opening) -> Sink:
    """A connector that tries by itself does so for no longer than the output may take."""
    options = dict(write.options)
    timeout = write.outage.halt_after if write.outage.policy == HALT else write.outage.write_timeout
    if write.outage.policy != WAIT and any(option.key == _RETRIES for option in CONNECTORS[write.connector].sink or ()):
        options[_RETRIES] = f"{timeout}us"
    request = SinkRequest(write.input, options, opening.job_id, write.columns, write.key, opening.stopping)
    return connector_of(write.connector).open_sink(opening.spark, request)


def _other_sink(write: Write, opening: Opening) -> tuple[Sink, bool]:
    """With a name of its own, so that its batches are told from those that the other statement writes to the same place."""
    other = write.outage.other
    assert other is not None
    has_headers = CONNECTORS[other.connector].has_headers
    columns = write.columns if has_headers or not write.columns else (*write.columns, ColumnDef(FAILOVER_COLUMN, STRING))
    request = SinkRequest(f"{write.input}/failover", dict(other.options), opening.job_id, columns, write.key, opening.stopping)
    return connector_of(other.connector).open_sink(opening.spark, request), has_headers
