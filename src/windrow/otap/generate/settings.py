"""What is to be made."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Literal

from windrow.otap.chance import mixed_number

SECOND = 1_000_000_000
SIGNALS = ("logs", "traces", "metrics")

Ids = Literal["batch_local", "partition_unique"]
Encoding = Literal["dictionary", "plain"]
Layout = Literal["hive", "flat"]
Names = Literal["millis", "iso"]


@dataclass(frozen=True)
class Telemetry:
    """Times are nanoseconds. A partition is one instance of the exporter, with hosts of its own that send to it.

    ``ids`` says whether nested resource and scope ids count from 0 in every batch, as the exporter leaves them, or are
    unique in the partition. ``flat`` has no partition folders, so only one partition can be told apart. A log's text ends in
    ``more_text`` characters that no other has.
    """

    seed: int = 0
    start: int = 1_767_225_600 * SECOND
    length: int = 300 * SECOND
    signals: tuple[str, ...] = SIGNALS
    partitions: int = 2
    hosts: int = 5
    rows_per_second: int = 20
    batch_length: int = 5 * SECOND
    file_length: int = 60 * SECOND
    drift: int = 30 * SECOND
    latency: int = 2 * SECOND
    late_files: int = 0
    late_by: int = 3600 * SECOND
    without_time: float = 0.0
    more_text: int = 0
    ids: Ids = "batch_local"
    encoding: Encoding = "dictionary"
    layout: Layout = "hive"
    names: Names = "millis"
    has_statistics: bool = True

    def part_id(self, partition: int) -> str:
        return str(uuid.UUID(int=mixed_number(self.seed * 1009 + partition) << 64 | mixed_number(partition + 7), version=4))

    def salt(self, partition: int, use: int) -> int:
        return mixed_number(self.seed) + partition * 1_000 + use
