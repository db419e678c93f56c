"""What Spark's own checkpoint says: which batch was committed last, when a batch arrived, and which files were promised to none."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from windrow.errors import JobError
from windrow.spark.folders import Folder, open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Checkpoint:
    def __init__(self, spark: SparkSession | None, folder: Folder) -> None:
        self._spark = spark
        self.path = f"{folder.path}/checkpoint"
        # Of the batch that was asked for last: its time and its offsets are asked for one after the other.
        self._read: tuple[int, list[str]] | None = None

    def last_committed(self) -> int:
        """-1 where no batch was."""
        return max(_numbers(self._commits), default=-1)

    def has_begun(self) -> bool:
        """Whether any batch was planned."""
        return self.last_planned() >= 0

    def last_planned(self) -> int:
        """The last batch that was begun: committed, or to be run again. -1 where none was."""
        return max(_numbers(self._offsets), default=-1)

    @cached_property
    def _commits(self) -> Folder:
        return open_folder(self._spark, f"{self.path}/commits")

    @cached_property
    def _offsets(self) -> Folder:
        """Opened once: opening a folder proves that it can be written, which is not to be done again in every batch."""
        return open_folder(self._spark, f"{self.path}/offsets")

    def restorable(self) -> set[int]:
        """Batches of which Spark still knows how far the sources had been read."""
        return _numbers(self._commits) & _numbers(self._offsets)

    def go_back_to(self, batch_id: int) -> None:
        """Make Spark believe that this batch was the last."""
        for log in (self._commits, self._offsets):
            for number in _numbers(log):
                if number > batch_id:
                    _remove(log, str(number))

    def has_planned(self, batch_id: int) -> bool:
        """Whether Spark has noted what this batch reads."""
        return batch_id in _numbers(self._offsets)

    def plan_empty(self, batch_id: int, now_ms: int) -> None:
        """Note a batch that reads nothing of any source: it ends where the one before it did."""
        lines = list(self._lines(batch_id - 1))
        about = json.loads(lines[1])
        about["batchTimestampMs"] = now_ms
        lines[1] = json.dumps(about, separators=(",", ":"))
        _remove(self._offsets, str(batch_id))
        self._offsets.write(str(batch_id), "\n".join(lines).encode())

    def commit_empty(self, batch_id: int) -> None:
        _remove(self._commits, str(batch_id))
        self._commits.write(str(batch_id), self._commits.read(str(batch_id - 1)))

    def arrival_of(self, batch_id: int) -> int:
        """Spark notes a batch's time in its offset log before the batch runs, so a batch that runs again sees the same."""
        for line in self._lines(batch_id):
            if line.startswith("{"):
                noted = json.loads(line).get("batchTimestampMs")
                if noted is not None:
                    return int(noted) * 1000
        raise JobError("WR813", f"the offset log of batch {batch_id} in {self.path} is damaged", "start with a new --state folder")

    def offsets_of(self, batch_id: int) -> list[dict[str, Any]]:
        """How far a batch reads each source, in the order of the query; empty for a source that Spark notes otherwise."""
        # After a line of version and one about the batch.
        found = [json.loads(line) if line.startswith("{") else {} for line in self._lines(batch_id)[2:]]
        return [offset if isinstance(offset, dict) else {} for offset in found]

    def _lines(self, batch_id: int) -> list[str]:
        """Spark writes the entry of a batch once, before the batch runs."""
        if self._read is None or self._read[0] != batch_id:
            self._read = batch_id, self._offsets.read(str(batch_id)).decode().splitlines()
        return self._read[1]

    def forget_unplanned_files(self, sources: int) -> None:
        """Spark's file source notes the files of its next batch before the batch itself is noted. A kill between the two would
        put them into one batch with those that came after, so a restart could cut the input differently: they are listed again.
        """
        batches = _numbers(self._offsets)
        planned = self.offsets_of(max(batches)) if batches else []
        for number in range(sources):
            offset = planned[number] if number < len(planned) else {}
            log = open_folder(self._spark, f"{self.path}/sources/{number}")
            for name in log.names():
                entry = name.removesuffix(".compact")
                if entry.isdigit() and int(entry) > offset.get("logOffset", -1) and _lists_files(log.read(name)):
                    _remove(log, name)


def _numbers(log: Folder) -> set[int]:
    return {int(name) for name in log.names() if name.isdigit()}


def _remove(log: Folder, name: str) -> None:
    log.remove(name)
    log.remove(f".{name}.crc")


def _lists_files(entry: bytes) -> bool:
    """Other sources keep something of their own in the same place: where they began, which must stay."""
    return entry.partition(b"\n")[2].startswith(b'{"path"')
