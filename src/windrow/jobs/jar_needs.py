"""Jars that a run needs beside PySpark's, put among the settings its session starts with: executors get them before their first task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from windrow.connectors.registry import CONNECTORS
from windrow.jars import S3A, jar_files
from windrow.plan.stages import Job
from windrow.spark.internals.executors import is_cluster_master
from windrow.spark.shipping import brings, with_jars

_S3A = "s3a:"
# By which one of a group's jars is known, whoever brings it.
_KNOWN_BY = {S3A: "hadoop-aws", "kafka-connector": "spark-sql-kafka"}


def with_needed_jars(settings: Mapping[str, str], master: str, jobs: Iterable[Job], states: Iterable[str]) -> dict[str, str]:
    """Nothing is fetched or added that the user's own settings bring, or the Spark that is installed."""
    found = dict(settings)
    for group in _groups(master, list(jobs), states):
        if not brings(found, _KNOWN_BY[group]):
            found = with_jars(found, jar_files(group))
    return found


def _groups(master: str, jobs: list[Job], states: Iterable[str]) -> list[str]:
    ends = [(read.connector, read.options) for job in jobs for read in job.reads]
    ends += [(write.connector, write.options) for job in jobs for write in job.writes]
    groups = []
    if any(address.startswith(_S3A) for address in states) or any(value.startswith(_S3A) for _, options in ends for _, value in options):
        groups.append(S3A)
    if is_cluster_master(master):
        # On one machine a session takes the connector's jars while it runs, and only if there is a topic to read.
        groups += sorted({jars for connector, _ in ends if (jars := CONNECTORS[connector].jars) is not None})
    return groups
