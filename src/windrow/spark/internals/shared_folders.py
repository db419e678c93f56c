"""Whether a folder of the driver's disk is the same folder on every executor.

A path says nothing about that: ``/data/out`` may be a mount that all machines have, or a folder of each. What an executor wrote into its
own is lost without an error, so the driver writes a word there and every executor reads it.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import OutageError
from windrow.spark.internals.executors import await_executor, executor_ids, hosts_of, is_cluster, job_group, texts_read_by_each
from windrow.spark.internals.java_errors import may_be_misfit, spark_errors
from windrow.spark.internals.lost_executors import refuse_if_lost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.spark")
# As long as for the Python of the workers: a cluster that starts its executors takes its time.
ANSWER_TIMEOUT = 120.0
_PLACE = re.compile(r"\(TID \d+\) \((\S+) executor \S+?\)")
_SAID = re.compile(r"executor \S+?\): (?:\w+\.)*(\w+(?:Error|Exception)): ([^\n]*)")
_PROVEN: dict[tuple[str, str], frozenset[str]] = {}
_PROVING = threading.Lock()


@dataclass(frozen=True)
class NotShared:
    """A machine that does not have the driver's folder, and how that was seen."""

    host: str
    reason: str

    def told(self, path: str) -> str:
        return f"{path} is not the same folder on {self.host} as on the driver: {self.reason}"


def not_shared(spark: SparkSession, path: str) -> NotShared | None:
    """A machine on which an executor does not see the driver's folder; None where all that are there do.

    Each executor is asked once for each folder. A folder in which the driver cannot write proves nothing, and is taken for shared.
    """
    if not is_cluster(spark):
        return None
    key = str(spark.sparkContext.applicationId), os.path.abspath(path)
    with _PROVING:
        try:
            return _prove(spark, key)
        except OutageError:
            raise
        except Exception as error:
            if not may_be_misfit(error):
                raise
            # What a sink's executors have written is still compared with what is there.
            LOG.warning("cannot ask the executors whether they share %s with the driver: %s", path, str(error).partition("\n")[0])
            return None


def _prove(spark: SparkSession, key: tuple[str, str]) -> NotShared | None:
    proven = _PROVEN.get(key, frozenset())
    there = executor_ids(spark)
    if there and there <= proven:
        return None
    await_executor(spark, ANSWER_TIMEOUT)
    there = executor_ids(spark)
    hosts = hosts_of(spark, there - proven)
    if not hosts:
        return None
    found = _read_by(spark, Path(key[1]), hosts)
    if found is None:
        _PROVEN[key] = proven | there
    return found


def _read_by(spark: SparkSession, folder: Path, hosts: dict[str, str]) -> NotShared | None:
    word = uuid.uuid4().hex
    # Nobody takes a hidden folder for input; of a hidden file Hadoop would say that it is not there.
    token = folder / f".windrow-{word}" / "word"
    try:
        token.parent.mkdir()
        token.write_text(f"{word}\n", encoding="ascii")
    except OSError:
        return None
    try:
        with job_group(spark, "whether executors see a folder of the driver's"):
            words = texts_read_by_each(spark, token.absolute().as_uri(), hosts)
    except spark_errors() as error:
        refuse_if_lost(error)
        return _refused(str(error))
    finally:
        shutil.rmtree(token.parent, ignore_errors=True)
    wrong = next((host for host, read in zip(hosts.values(), words, strict=True) if read != word), None)
    return None if wrong is None else NotShared(wrong, "another file has the name of one that the driver has just written")


def _refused(text: str) -> NotShared:
    """
    >>> _refused('Lost task 0.3 (TID 7) (10.0.0.5 executor 0): java.io.FileNotFoundException: File file:/a/b does not exist').reason
    'a file that the driver has just written is not there'
    """
    place, said = _PLACE.search(text), _SAID.search(text)
    host = place[1] if place is not None else "a worker"
    if said is None or said[1] == "FileNotFoundException":
        return NotShared(host, "a file that the driver has just written is not there")
    return NotShared(host, said[2] or said[1])
