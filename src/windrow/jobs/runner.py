"""One streaming query a job, from start to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from windrow.compiling import Compiled
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Output, Reading, Refused, Sink, SinkRequest, SourceRequest, SourceStream
from windrow.errors import JobError, OutageError, UsageError, WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.failures import as_job_error, fault_of_query
from windrow.jobs.identity import BUCKETS, LETTERS, NOTES, REPLAYS, STATE, TABLES, claim, restores_of
from windrow.jobs.lease import Lease
from windrow.jobs.letter_topic import LetterTopic, letter_topic
from windrow.jobs.options import RunOptions
from windrow.jobs.outage import Outage
from windrow.jobs.progress import LoadWatch, Progress
from windrow.jobs.replays import NO_REPLAY, Replay, ReplayLog
from windrow.model.fate import Fate
from windrow.observe.status import ENDED, FAILED, RUNNING, STOPPED, WAITING, JobStatus, TableLoad
from windrow.plan.stages import Job, Read
from windrow.resilience import RetryRule, StoppedWaitingError
from windrow.spark.batch import BatchInput, BatchResult
from windrow.spark.dead_letters import DeadLetter, to_table
from windrow.spark.folders import Folder, LocalFolder, folder_name, open_folder
from windrow.spark.homes import HomeRules
from windrow.spark.mixing import mix_sources, pick_source
from windrow.spark.ordering import needs_order
from windrow.spark.program import BatchProgram
from windrow.spark.reading import RowReader
from windrow.spark.replaying import replayed_rows
from windrow.spark.session import adopt_session, make_session
from windrow.spark.state_store import StateStore
from windrow.spark.table_refresh import TableRefresh
from windrow.spark.table_versions import TableVersions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

# How long a stop waits for Spark to note the last batch as done. Should it not come to that, the batch simply runs again.
COMMIT_SECONDS = 10.0


def start(
    compiled: Compiled, options: RunOptions, spark: SparkSession | None = None, on_load: Callable[[TableLoad], None] | None = None
) -> Jobs:
    """Start every job of a plan. With a given session, its cluster is used and its own settings stay untouched.

    ``on_load`` is told of tables as they are loaded, from several threads.
    """
    if not compiled.plan.jobs:
        raise UsageError("WR620", "there is nothing to run: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT")
    is_own = spark is None
    session = make_session(options.master, options.spark_settings) if spark is None else adopt_session(spark, options.spark_settings)
    running: list[RunningJob] = []
    try:
        running.extend(RunningJob(session, job, options, on_load) for job in compiled.plan.jobs)
        for one in running:
            one.start()
    except BaseException:
        for one in running:
            one.stop()
        if is_own:
            session.stop()
        raise
    return Jobs(running, session if is_own else None)


class Jobs:
    """The running jobs of one file."""

    def __init__(self, jobs: list[RunningJob], own_session: SparkSession | None) -> None:
        self._jobs = jobs
        self._own_session = own_session

    def status(self) -> list[JobStatus]:
        return [job.status() for job in self._jobs]

    @property
    def is_active(self) -> bool:
        return any(job.is_active for job in self._jobs)

    def await_end(self, timeout: float | None = None) -> bool:
        """Wait until all jobs have ended. True when they have; raises what a job failed with."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for job in self._jobs:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not job.await_end(left):
                return False
        self._close()
        return True

    def stop(self) -> None:
        """Let each job finish the batch it is in, then stop it."""
        for job in self._jobs:
            job.stop()
        self._close()

    def _close(self) -> None:
        if self._own_session is not None and not self.is_active:
            self._own_session.stop()
            self._own_session = None

    def query(self, job: str) -> StreamingQuery:
        """Spark's own query behind a job, for its progress and its listeners."""
        query = next(one.query for one in self._jobs if one.job.name == job)
        assert query is not None, "a job of this kind has started"
        return query

    def state_folder(self, job: str) -> str:
        return next(one.folder.path for one in self._jobs if one.job.name == job)


class RunningJob:
    def __init__(self, spark: SparkSession, job: Job, options: RunOptions, on_load: Callable[[TableLoad], None] | None = None) -> None:
        self.job = job
        self._on_load = on_load or (lambda _load: None)
        self.folder: Folder = open_folder(spark, f"{options.state}/{folder_name(job.name)}")
        self._spark = spark
        self._options = options
        self._checkpoint = Checkpoint(spark, self.folder)
        self._dead_letters = self.folder.child(LETTERS)
        self._replays = ReplayLog(self.folder.child(REPLAYS))
        self._is_ordered = needs_order(job)
        self._store = StateStore(
            self.folder.child(STATE), int(options.setting("state.snapshot.every")), int(options.setting("state.retain.batches"))
        )
        self._progress = Progress(job.name)
        self._sinks: dict[str, Sink] = {}
        self._letter_topic: LetterTopic | None = None
        self._streams: dict[str, SourceStream] = {}
        # Of each source, as the clock numbers them; a source may get more while it is read.
        self._partitions: dict[str, tuple[int, ...] | None] = {}
        self.query: StreamingQuery | None = None
        self._failure: WindrowError | None = None
        self._is_stopping = threading.Event()
        self._in_batch = threading.Lock()
        self._finished = threading.Event()
        self._lease = Lease(self.folder, job.name)
        try:
            self._id = claim(self.folder, job, has_begun=self._checkpoint.has_begun())
        except WindrowError:
            self._lease.release()
            raise

    def start(self) -> None:
        self._begin()
        threading.Thread(target=self._watch, name=f"windrow-{self.job.name}", daemon=True).start()

    def _begin(self) -> None:
        """Go on from what is durable: at the start of a job, and after an outage of a source. Sinks stay open over the second."""
        for read in self.job.reads:
            self._streams[read.name] = self._open_source(read)
            self._partitions[read.name] = self._partition_ids(self._streams[read.name])
        self._program = BatchProgram(self._spark, self.job, self._partitions, self._home_rules())
        committed = self._checkpoint.last_committed()
        self._load_tables(committed)
        self._store.forget_after(committed)
        self._checkpoint.forget_unplanned_files(len(self.job.reads) + 1)
        self._program.state = self._store.load(committed, self._program.steps)
        self._is_ended = self._store.has_end(committed + 1)
        if self._is_ended:
            self._program.state = self._store.load(committed + 1, self._program.steps)
        if not self._sinks:
            self._open_sinks()
        self._progress.update(self._program, None, 0.0)
        self._readers = {read.name: RowReader(read, self._streams[read.name], needs_order=self._is_ordered) for read in self.job.reads}
        if not self._is_ended and committed >= 0 and not self._checkpoint.has_planned(committed + 1) and self._replays.is_waiting():
            self._replay_alone(committed + 1)
        ticking = self.job.needs_ticks and self._options.mode == "continuous"
        mixed = mix_sources(self._spark, {name: stream.frame for name, stream in self._streams.items()}, with_ticks=ticking)
        writer = mixed.writeStream.queryName(self.job.name).foreachBatch(self._on_batch).option("checkpointLocation", self._checkpoint.path)
        if self._options.mode == "continuous":
            writer = writer.trigger(processingTime=f"{self._options.trigger_interval_ms} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        self._progress.state = RUNNING
        try:
            self.query = writer.start()
        except Exception as error:
            raise self._explain(error) from error

    def _open_sinks(self) -> None:
        for write in self.job.writes:
            request = SinkRequest(write.input, dict(write.options), self._id, write.columns, write.key, self._is_stopping)
            sink = _runtime(write.connector).open_sink(self._spark, request)
            sink.open()
            self._sinks[write.input] = sink
        self._letter_topic = letter_topic(self._options, self._id, restores_of(self.folder), self.job.name, self._is_stopping)
        if self._letter_topic is not None:
            self._letter_topic.open()

    def _load_tables(self, committed: int) -> None:
        """Those that are refreshed are as the last batch saw them; the others are loaded anew."""
        versions = TableVersions(self.folder.child(TABLES), int(self._options.setting("state.retain.batches")))
        self._refresh = TableRefresh(self.job, self._program.tables, versions, self._open_table)
        there = self._refresh.restore(committed, self._checkpoint.last_planned())
        loads = self._program.tables.load(self._open_table, is_new=committed < 0, has=there)
        self._refresh.note_loaded(loads)
        for loaded in loads:
            self._on_load(TableLoad(loaded.name, loaded.rows.num_rows, None, loaded.seconds, is_done=True))

    def _home_rules(self) -> HomeRules:
        """Executors write their share of the state themselves, so the folder must be one that all of them see."""
        home, setting = self._options.setting("state.home"), self._options.setting
        if home == "distributed" and not isinstance(self.folder, LocalFolder):
            raise UsageError(
                "WR806",
                f"state on the executors needs a folder that all of them mount, and {self.folder.path} is not a path of a file system",
                "choose a shared folder with --state, or --set state.home=resident",
            )
        return HomeRules(
            f"{self.folder.path}/{BUCKETS}" if isinstance(self.folder, LocalFolder) else None,
            home,
            int(setting("state.resident.max_bytes")),
            int(setting("state.buckets")),
            int(setting("state.snapshot.every")),
            int(setting("state.retain.batches")),
            self._options.limit("state.max_bytes"),
            self._options.limit("state.max_groups"),
        )

    def _open_source(self, read: Read) -> SourceStream:
        request = SourceRequest(
            read.name,
            read.columns,
            dict(read.options),
            is_bounded=self._options.mode != "continuous",
            is_ended=self._options.mode == "until_end",
            needs_order=self._is_ordered,
            job=self.job.name,
            folder=f"{self.folder.path}/{NOTES}/{folder_name(read.name)}",
            stopping=self._is_stopping,
        )
        stream: SourceStream = _runtime(read.connector).open_source(self._spark, request)
        return stream

    def _open_table(self, read: Read, since: str | None = None) -> SourceStream:
        request = SourceRequest(
            read.name,
            read.columns,
            dict(read.options),
            is_bounded=True,
            is_table=True,
            since=since,
            progress=LoadWatch(read.name, self._on_load),
            stopping=self._is_stopping,
        )
        stream: SourceStream = _runtime(read.connector).open_source(self._spark, request)
        return stream

    def _partition_ids(self, stream: SourceStream) -> tuple[int, ...] | None:
        return tuple(range(stream.partitions)) if isinstance(stream.partitions, int) else stream.partitions

    def _on_batch(self, frame: DataFrame, batch_id: int) -> None:
        """Called by Spark for each micro-batch. What is raised here ends the query; the batch will run again."""
        if self._is_stopping.is_set():
            raise JobError("WR821", f"job {self.job.name} is stopping: batch {batch_id} is left for the next run")
        try:
            with self._in_batch:
                self._take(frame, batch_id)
        except StoppedWaitingError:
            raise
        except WindrowError as error:
            self._failure = fault_of_query(error, self.job.name) or error
            raise
        except Exception as error:
            self._failure = self._explain(error)
            raise

    def _explain(self, error: Exception) -> WindrowError:
        """A connector may know what a failure of Spark's means; else it is shown without its stack."""
        for connector in {*(read.connector for read in self.job.reads), *(write.connector for write in self.job.writes)}:
            explain = getattr(_runtime(connector), "explain_failure", None)
            known: WindrowError | None = explain(error) if explain is not None else None
            if known is not None:
                return known
        return as_job_error(error, self.job.name)

    def _take(self, frame: DataFrame, batch_id: int) -> None:
        if self._is_ended:
            raise JobError(
                "WR820",
                f"the input of job {self.job.name} had been declared ended, its windows are closed, and now there are new rows",
                "run with a new --state folder to take them in; nothing of them was read",
            )
        readings = self._readings(batch_id)
        for name, reading, offset in readings:
            self._partitions[name] = tuple(sorted({*(self._partitions[name] or ()), *reading.lanes(offset)}))
        frames = {read.name: pick_source(frame, read.name, len(self.job.reads), self._is_mixed) for read in self.job.reads}
        self._run_batch(batch_id, frames, frame.sparkSession)
        for _, reading, offset in readings:
            reading.committed(offset)

    def _run_batch(self, batch_id: int, frames: dict[str, DataFrame], session: SparkSession) -> None:
        """``frames`` are as the sources handed them over."""
        started = time.monotonic()
        self._refresh.before_batch(batch_id)
        self._progress.stale_tables = self._refresh.troubles()
        now = self._arrival_of(batch_id)
        rows = {name: self._readers[name].rows(frame, now) for name, frame in frames.items()}
        replay = self._replays.plan(batch_id)
        if replay.letters:
            rows = self._with_replayed(rows, replay, session, now)
        result = self._program.run(replace(self._batch_input(batch_id, rows, now), replayed=replay.counts))
        self._commit(result, replay)
        self._refresh.after_batch(batch_id)
        self._progress.update(self._program, result, time.monotonic() - started)

    def _readings(self, batch_id: int) -> list[tuple[str, Reading, dict[str, Any]]]:
        """The sources that want to know how far a batch reads them, with that."""
        names = [read.name for read in self.job.reads]
        if all(self._streams[name].reading is None for name in names):
            return []
        offsets = zip(names, self._checkpoint.offsets_of(batch_id), strict=False)
        return [(name, reading, offset) for name, offset in offsets if (reading := self._streams[name].reading) is not None]

    def _arrival_of(self, batch_id: int) -> int:
        return self._checkpoint.arrival_of(batch_id)

    def _batch_input(self, batch_id: int, frames: dict[str, DataFrame], now: int) -> BatchInput:
        return BatchInput(batch_id, frames, now, stated_watermarks=self._stated_watermarks(batch_id))

    def _stated_watermarks(self, batch_id: int) -> dict[str, int]:
        """From Spark's own log of what the batch reads up to, so a batch that runs again sees the same."""
        askers = {read.name: getattr(_runtime(read.connector), "watermark_of", None) for read in self.job.reads}
        if not any(askers.values()):
            return {}
        offsets = zip(self.job.reads, self._checkpoint.offsets_of(batch_id), strict=False)
        stated = {read.name: ask(offset) for read, offset in offsets if (ask := askers[read.name]) is not None}
        return {name: watermark for name, watermark in stated.items() if watermark is not None}

    def _with_replayed(self, rows: dict[str, DataFrame], replay: Replay, session: SparkSession, now: int) -> dict[str, DataFrame]:
        both = dict(rows)
        for read in self.job.reads:
            if letters := replay.of(read.name):
                again = replayed_rows(session, read, letters, now, is_raw=self._streams[read.name].format is not None)
                both[read.name] = rows[read.name].unionByName(again) if read.name in rows else again
        return both

    def _replay_alone(self, batch_id: int) -> None:
        """Dead letters that wait need no new rows: they are a batch that reads nothing of the sources, noted where Spark notes its own."""
        self._checkpoint.plan_empty(batch_id, time.time_ns() // 1_000_000)
        self._run_batch(batch_id, {}, self._spark)
        self._checkpoint.commit_empty(batch_id)

    @property
    def _is_mixed(self) -> bool:
        return len(self.job.reads) > 1 or (self.job.needs_ticks and self._options.mode == "continuous")

    def _commit(self, result: BatchResult, replay: Replay = NO_REPLAY, *, is_end: bool = False) -> None:
        """Everything a batch gave becomes durable, state last; each write can be repeated without effect."""
        for name, sink in self._sinks.items():
            flow = result.outputs.get(name)
            if flow is not None:
                has_table = flow.table is not None
                started = time.monotonic()
                refused = sink.write(Output(result.batch_id, flow.columns, flow.table, None if has_table else flow.frame))
                self._set_aside(name, refused or (), result)
                self._progress.sink_seconds[name] = time.monotonic() - started
        if result.dead_letters:
            buffer = BytesIO()
            letters = to_table(result.dead_letters, replay.attempts)
            pq.write_table(letters, buffer)
            self._dead_letters.write(f"batch-{result.batch_id:010d}.parquet", buffer.getvalue())
            if self._letter_topic is not None:
                self._letter_topic.write(result.batch_id, letters)
        assert result.change is not None
        self._store.save(result.change, is_end=is_end)
        self._program.commit(result)
        if not is_end:
            self._store.settle(self._program.state)

    def _set_aside(self, statement: str, refused: Sequence[Refused], result: BatchResult) -> None:
        """Rows that an output refuses are dead letters of the statement that made them."""
        assert result.change is not None
        result.change.ledger.statement(statement).refused += len(refused)
        for one in refused:
            result.dead_letters.append(DeadLetter(Fate.REFUSED, statement, statement, one.row, result.batch_id, one.why))

    def _watch(self) -> None:
        """Wait for the query in the background, then do what comes after it."""
        try:
            self._await_query()
            if self._options.mode == "until_end" and not self._is_stopping.is_set() and not self._is_ended:
                self._end()
            self._progress.state = STOPPED if self._is_stopping.is_set() else ENDED
        except WindrowError as error:
            self._fail(error)
        except Exception as error:
            if self._failure is None and self._is_stopping.is_set():
                self._progress.state = STOPPED
            else:
                self._fail(self._failure or self._explain(error))
        finally:
            for sink in self._sinks.values():
                sink.close()
            if self._letter_topic is not None:
                self._letter_topic.close()
            self._close_streams()
            self._lease.release()
            self._finished.set()

    def _await_query(self) -> None:
        """Until the query ends. One that ended because a source is away is begun again, for as long as the job is willing to wait."""
        outage = Outage(RetryRule(first=1.0, give_up_after=float(self._options.setting("outage.max_seconds"))), self._is_stopping)
        while True:
            try:
                if self._progress.state == WAITING:
                    self._close_streams()
                    self._begin()
                    self._progress.error = None
                assert self.query is not None
                self.query.awaitTermination()
                return
            except Exception as error:
                found = self._failure or (error if isinstance(error, WindrowError) else self._explain(error))
                if not isinstance(found, OutageError) or not outage.wait(self._program.state.batch_id):
                    raise
                self._failure = None
                self._progress.state, self._progress.error = WAITING, f"waits: {found.message}"

    def _close_streams(self) -> None:
        for stream in self._streams.values():
            if stream.reading is not None:
                stream.reading.close()

    def _fail(self, error: WindrowError) -> None:
        self._failure = error
        self._progress.state = FAILED
        self._progress.error = str(error)

    def _end(self) -> None:
        """The input is over: close every window, as a batch of its own."""
        batch_id = self._program.state.batch_id + 1
        now = max((clock.now or 0 for clock in self._program.state.clocks.values()), default=0)
        started = time.monotonic()
        result = self._program.run(BatchInput(batch_id, {}, now, is_end=True))
        self._commit(result, is_end=True)
        self._progress.update(self._program, result, time.monotonic() - started)

    def status(self) -> JobStatus:
        return self._progress.status()

    @property
    def is_active(self) -> bool:
        return self.query is not None and not self._finished.is_set()

    def await_end(self, timeout: float | None) -> bool:
        if not self._finished.wait(timeout):
            return False
        if self._failure is not None:
            raise self._failure
        return True

    def stop(self) -> None:
        if self.query is None:
            self._lease.release()
            return
        self._is_stopping.set()
        # The batch under way is finished first; the one after it is not begun (see _on_batch).
        with self._in_batch:
            pass
        deadline = time.monotonic() + COMMIT_SECONDS
        while self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        self.query.stop()
        self._finished.wait(60)


def _runtime(connector: str) -> Any:
    return import_module(CONNECTORS[connector].runtime)
