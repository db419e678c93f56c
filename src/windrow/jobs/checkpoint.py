"""What Spark's own checkpoint says: which batch was committed last, and when a batch arrived."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING

from windrow.errors import JobError
from windrow.spark.folders import Folder, open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Checkpoint:
    def __init__(self, spark: SparkSession, folder: Folder) -> None:
        self._spark = spark
        self.path = f"{folder.path}/checkpoint"

    def last_committed(self) -> int:
        """-1 where no batch was."""
        names = open_folder(self._spark, f"{self.path}/commits").names()
        return max((int(name) for name in names if name.isdigit()), default=-1)

    @cached_property
    def _offsets(self) -> Folder:
        """Opened once: opening a folder proves that it can be written, which is not to be done again in every batch."""
        return open_folder(self._spark, f"{self.path}/offsets")

    def arrival_of(self, batch_id: int) -> int:
        """Spark notes a batch's time in its offset log before the batch runs, so a batch that runs again sees the same."""
        text = self._offsets.read(str(batch_id)).decode()
        for line in text.splitlines():
            if line.startswith("{"):
                noted = json.loads(line).get("batchTimestampMs")
                if noted is not None:
                    return int(noted) * 1000
        raise JobError("WR813", f"the offset log of batch {batch_id} in {self.path} is damaged", "start with a new --state folder")
