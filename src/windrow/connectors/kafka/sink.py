"""Batches as records of a topic.

Exactly once: the records of a batch and the number of the batch (``commits.py``) are one transaction. A batch that runs again
finds its number and writes nothing; a run that was replaced is fenced by the broker. Whatever goes wrong, the producer is thrown
away: the next one aborts what hung, and reads which batch was the last. Readers must be ``read_committed``.

At least once: no transaction, and a header on each record that is the same whenever its batch runs again.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from windrow.connectors.kafka import topics
from windrow.connectors.kafka.client import Complaints, client_settings, refused_setting, saying_why
from windrow.connectors.kafka.commits import NOTHING, Commit, commit_key, ensure_topic, read_commit
from windrow.connectors.kafka.failures import NO_TOPIC, REPLACED, TOO_LARGE, classify, explain, is_fenced
from windrow.connectors.kafka.records import Records, leave_out, record_columns, records_of
from windrow.connectors.kafka.security import for_java
from windrow.connectors.kafka.sender import Sender
from windrow.connectors.kafka.sink_settings import SinkSettings
from windrow.connectors.kafka.telemetry import Telemetry
from windrow.connectors.kafka.trace_headers import with_trace
from windrow.connectors.runtime import EMISSION, Output, Refused, Sink, SinkRequest
from windrow.connectors.telemetry_columns import check_columns
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import Guard, RetryRule

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from pyspark.sql import DataFrame, SparkSession

ID_HEADER = "windrow-id"
# The client's own limit where it is not set, and what a record needs beside key, value and headers.
_MESSAGE_MAX_BYTES, _AROUND_A_RECORD = 1_000_000, 512
# A job that starts and finds no broker says so soon; one that runs waits for it.
_OPENING = RetryRule(give_up_after=60.0)


def open_sink(spark: SparkSession, request: SinkRequest) -> Sink:
    settings = SinkSettings.of(request.options)
    if settings.is_exact:
        return ExactSink(settings, request)
    # Executors that are threads of the driver send no faster than it does, and rows that it sends need not be read again to be counted.
    return PlainSink(settings, request, from_driver=str(spark.sparkContext.master).startswith("local"))


class _TopicSink(Sink):
    """What both ways share: the topic, and calls that wait for a broker that is away."""

    def __init__(self, settings: SinkSettings, request: SinkRequest) -> None:
        self._settings = settings
        self._statement = request.statement
        self._job = request.job
        self._complaints = Complaints()
        self._client = client_settings(settings.servers, settings.client, self._complaints)
        rule = RetryRule(give_up_after=settings.retry_seconds)
        self._guard = Guard(f"kafka {settings.servers}", classify, partial(explain, settings.servers), rule, request.stopping)
        self._opening = replace(self._guard, rule=_OPENING, is_opening=True)
        self._sender: Sender | None = None
        self._telemetry = self._telemetry_of(request)

    def _telemetry_of(self, request: SinkRequest) -> Telemetry | None:
        if self._settings.telemetry is None:
            return None
        format_, signal = self._settings.telemetry
        check_columns(request.statement, signal, request.columns)
        return Telemetry(format_, signal, self._own_limit - _AROUND_A_RECORD)

    @property
    def _own_limit(self) -> int:
        return int(self._client.get("message.max.bytes", _MESSAGE_MAX_BYTES))

    def _records(self, output: Output) -> Iterator[Records]:
        if self._telemetry is not None:
            return self._telemetry.records(output, self._statement)
        return with_trace(records_of(output, with_times=self._settings.has_event_time), output)

    def _prepare_topic(self) -> None:
        settings = self._settings
        admin, seconds = self._admin(), settings.request_seconds
        with saying_why(admin, self._complaints):
            if topics.exists(admin, settings.topic, seconds):
                return
        if not settings.creates_topic:
            raise UsageError(
                NO_TOPIC,
                f"the topic {settings.topic} cannot be found at {settings.servers}",
                "make it, or let the job do so: 'topic.create' = 'true', 'topic.partitions' = '6'",
            )
        topics.create(admin, settings.topic, seconds, settings.partitions, settings.replication)

    def _admin(self) -> AdminClient:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            return AdminClient(self._client)
        except KafkaException as error:
            raise refused_setting(error) from error

    def _tried(self, what: str, write: Callable[[int | None], list[Refused]]) -> list[Refused]:
        """Write a batch; again without the records that are too large, if they are to be set aside."""
        try:
            return self._guard.call(what, lambda: write(None))
        except WindrowError as error:
            if error.code != TOO_LARGE or not self._settings.sets_aside:
                raise
        limit = self._guard.call(f"ask how large records of {self._settings.topic} may be", self._limit)
        return self._guard.call(what, lambda: write(limit))

    def _limit(self) -> int:
        allowed = topics.most_bytes(self._admin(), self._settings.topic, self._settings.request_seconds)
        return min(self._own_limit, allowed) - _AROUND_A_RECORD

    def _new_sender(self, **own: Any) -> Sender:
        return Sender(self._client, self._complaints, self._settings.topic, self._settings.request_seconds, own)

    def close(self) -> None:
        if self._sender is not None:
            self._sender.drop(abort=False)
            self._sender = None


class ExactSink(_TopicSink):
    def __init__(self, settings: SinkSettings, request: SinkRequest) -> None:
        super().__init__(settings, request)
        self.counts_rows = self._telemetry is None
        self._key = commit_key(self._job, self._statement)
        self._writer = uuid.uuid4().hex
        self._last = NOTHING
        self._is_open = False

    def open(self) -> None:
        """Prove that the topic is there and may be written in transactions, and find out which batch was the last."""
        self._opening.call(f"make topic {self._settings.topic} ready", self._prepare_topic)
        self._opening.call(f"open topic {self._settings.topic} for writing", self._ready)
        self._is_open = True

    def write(self, output: Output) -> Sequence[Refused]:
        return self.write_records(output.batch_id, lambda: self._records(output))

    def write_records(self, batch_id: int, make: Callable[[], Iterator[Records]]) -> Sequence[Refused]:
        """``make`` gives the records of the batch, the same whenever it is called."""
        return self._tried(f"write batch {batch_id} to topic {self._settings.topic}", lambda limit: self._write(batch_id, make, limit))

    @property
    def last_batch(self) -> int | None:
        """The last that was written, as far as this run knows."""
        return self._last.batch_id if self._last.batch_id > NOTHING.batch_id else None

    def rewind(self, batch_id: int) -> None:
        """Let batches after this one be written again."""
        self._opening.call(f"make topic {self._settings.topic} ready", self._prepare_topic)
        self._opening.call(f"go back to batch {batch_id} in topic {self._settings.topic}", lambda: self._rewind(batch_id))
        self.close()

    def _rewind(self, batch_id: int) -> None:
        sender = self._ready()
        if self._last.batch_id > batch_id:
            with self._dropping(sender):
                sender.begin()
                self._commit(sender, batch_id)

    def _write(self, batch_id: int, make: Callable[[], Iterator[Records]], limit: int | None) -> list[Refused]:
        """Without records larger than ``limit``, which are given back."""
        sender = self._ready()
        if batch_id <= self._last.batch_id:
            left_out = self._last.limit if batch_id == self._last.batch_id else None
            return [] if left_out is None else [one for records in make() for one in leave_out(records, left_out)[1]]
        refused: list[Refused] = []
        with self._dropping(sender):
            is_begun = False
            for records in make():
                if limit is not None:
                    records, large = leave_out(records, limit)
                    refused.extend(large)
                if (len(records) or refused) and not is_begun:
                    sender.begin()
                    is_begun = True
                sender.send(records)
            # A batch without rows is not noted: it gives none when it runs again.
            if is_begun:
                self._commit(sender, batch_id, limit)
        return refused

    def _commit(self, sender: Sender, batch_id: int, limit: int | None = None) -> None:
        commit = Commit(batch_id, self._writer, limit)
        sender.send_one(self._settings.commits_topic, self._key, commit.to_json(), partition=0)
        sender.commit()
        self._last = commit

    @contextmanager
    def _dropping(self, sender: Sender) -> Iterator[None]:
        """After a failure the producer is not used again."""
        try:
            yield
        except BaseException as error:
            self._sender = None
            sender.drop(abort=not is_fenced(error))
            raise

    def _ready(self) -> Sender:
        """The producer of this run, made anew where the one before failed."""
        if self._sender is not None:
            return self._sender
        settings = self._settings
        ensure_topic(self._admin(), settings.commits_topic, settings.request_seconds, settings.replication)
        sender = self._new_sender(
            **{
                "transactional.id": f"windrow-{self._job}-{self._statement}",
                "transaction.timeout.ms": int(settings.transaction_seconds * 1000),
            }
        )
        try:
            sender.init_transactions()
            found = self._read_commit()
            self._refuse_if_replaced(found)
        except BaseException:
            sender.drop(abort=False)
            raise
        self._last = max(self._last, found, key=lambda commit: commit.batch_id)
        self._sender = sender
        return sender

    def _read_commit(self) -> Commit:
        settings = self._settings
        timeout = settings.transaction_seconds + settings.request_seconds
        return read_commit(self._client, settings.commits_topic, self._key, settings.request_seconds, timeout)

    def _refuse_if_replaced(self, found: Commit) -> None:
        """Having made a new producer, this run would fence the one that replaced it, and go on with rows that are old."""
        if self._is_open and found.batch_id > self._last.batch_id and found.writer != self._writer:
            raise JobError(
                REPLACED,
                f"another run of this job has written batch {found.batch_id} to topic {self._settings.topic} meanwhile",
                "let one run at a time use a state folder",
            )


class PlainSink(_TopicSink):
    """``from_driver``: nothing is written by the executors."""

    def __init__(self, settings: SinkSettings, request: SinkRequest, *, from_driver: bool) -> None:
        super().__init__(settings, request)
        self._has_spark_writer = not from_driver
        self.counts_rows = from_driver and self._telemetry is None

    def open(self) -> None:
        self._opening.call(f"make topic {self._settings.topic} ready", self._prepare_topic)
        self._sender = self._new_sender()

    def write(self, output: Output) -> Sequence[Refused]:
        return self._tried(f"write batch {output.batch_id} to topic {self._settings.topic}", lambda limit: self._write(output, limit))

    def _write(self, output: Output, limit: int | None) -> list[Refused]:
        if output.frame is not None and output.trace is None and self._has_spark_writer and self._suits_spark(output.frame):
            if limit is None and self._write_on_executors(output.frame, output):
                return []
            self._has_spark_writer = False
        sender = self._sender or self._new_sender()
        self._sender = sender
        refused: list[Refused] = []
        try:
            first = 0
            for records in self._records(output):
                if limit is not None:
                    records, large = leave_out(records, limit)
                    refused.extend(large)
                sender.send(self._with_ids(records, output.batch_id, first))
                first += len(records)
            sender.flush()
        except BaseException:
            self._sender = None
            sender.drop(abort=False)
            raise
        return refused

    def _id(self, batch_id: int) -> str:
        return f"{self._job}/{self._statement}/{batch_id}/"

    def _with_ids(self, records: Records, batch_id: int, first: int) -> Records:
        start = self._id(batch_id)
        own = records.headers or [None] * len(records)
        return replace(records, headers=[[*(had or ()), (ID_HEADER, f"{start}{n}")] for n, had in enumerate(own, first)])

    def _suits_spark(self, frame: DataFrame) -> bool:
        """Spark's writer knows neither times nor what a retraction without a key means."""
        return self._telemetry is None and not self._settings.has_event_time and EMISSION not in frame.columns

    def _write_on_executors(self, frame: DataFrame, output: Output) -> bool:
        """False where this Spark has no writer for Kafka."""
        from pyspark.errors import AnalysisException
        from pyspark.sql import functions as F

        parts = record_columns(frame, output.columns, with_times=False)
        records = frame.select(*(column.alias(name) for name, column in parts.items()))
        number = F.concat(F.lit(self._id(output.batch_id)), F.monotonically_increasing_id().cast("string")).cast("binary")
        ids = F.array(F.struct(F.lit(ID_HEADER).alias("key"), number.alias("value")))
        headers = ids
        if "headers" in records.columns:
            had = F.transform(F.map_entries("headers"), lambda e: F.struct(e["key"].alias("key"), e["value"].cast("binary").alias("value")))
            headers = F.concat(F.coalesce(had, F.array().cast("array<struct<key: string, value: binary>>")), ids)
        settings = self._settings
        given = {"compression.type": "lz4", "linger.ms": "20", "batch.size": "1000000", **for_java(settings.client)}
        writer = records.select("key", "value", headers.alias("headers")).write.format("kafka")
        writer = writer.option("kafka.bootstrap.servers", settings.servers).option("topic", settings.topic)
        try:
            writer.options(**{f"kafka.{key}": value for key, value in given.items()}).save()
        except AnalysisException as error:
            if "kafka" in str(error) and "find" in str(error).lower():
                return False
            raise
        return True
