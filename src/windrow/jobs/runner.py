"""One streaming query a job, from start to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.compiling import Compiled
from windrow.connectors.zones import in_zone
from windrow.errors import JobError, OutageError, UsageError, WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.connecting import runtime_of
from windrow.jobs.failures import as_job_error, fault_of_query
from windrow.jobs.identity import BUCKETS, REPLAYS, STATE, TABLES, claim
from windrow.jobs.inputs import Inputs
from windrow.jobs.lease import Lease
from windrow.jobs.options import RunOptions
from windrow.jobs.outage import Outage
from windrow.jobs.outputs import Outputs
from windrow.jobs.progress import Progress
from windrow.jobs.replays import NO_REPLAY, Replay, ReplayLog
from windrow.observe.status import ENDED, FAILED, RUNNING, STOPPED, WAITING, JobStatus, TableLoad
from windrow.plan.stages import Job
from windrow.resilience import RetryRule, StoppedWaitingError
from windrow.spark.batch import BatchInput, BatchResult
from windrow.spark.folders import Folder, LocalFolder, folder_name, open_folder
from windrow.spark.homes import HomeRules
from windrow.spark.program import BatchProgram
from windrow.spark.querying import Select
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
    session = in_zone(session, compiled.plan.jobs[0].time_zone)
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
        self._replays = ReplayLog(self.folder.child(REPLAYS))
        self._store = StateStore(
            self.folder.child(STATE), int(options.setting("state.snapshot.every")), int(options.setting("state.retain.batches"))
        )
        self._progress = Progress(job.name)
        self.query: StreamingQuery | None = None
        self._failure: WindrowError | None = None
        self._is_stopping = threading.Event()
        self._in_batch = threading.Lock()
        self._finished = threading.Event()
        self._lease = Lease(self.folder, job.name)
        try:
            job_id = claim(self.folder, job, has_begun=self._checkpoint.has_begun())
        except WindrowError:
            self._lease.release()
            raise
        self._inputs = self._make_inputs()
        self._outputs = Outputs(spark, job, options, self.folder, job_id, self._is_stopping)

    def _make_inputs(self) -> Inputs:
        return Inputs(self._spark, self.job, self._options, self.folder, self._checkpoint, self._is_stopping, self._on_load)

    def start(self) -> None:
        self._begin()
        threading.Thread(target=self._watch, name=f"windrow-{self.job.name}", daemon=True).start()

    def _begin(self) -> None:
        """Go on from what is durable: at the start of a job, and after an outage of a source."""
        self._inputs.open()
        self._program = BatchProgram(self._spark, self.job, self._inputs.partitions, self._home_rules())
        committed = self._checkpoint.last_committed()
        self._load_tables(committed)
        self._store.forget_after(committed)
        self._checkpoint.forget_unplanned_files(len(self.job.reads) + 1)
        self._program.state = self._store.load(committed, self._program.steps)
        self._is_ended = self._store.has_end(committed + 1)
        if self._is_ended:
            self._program.state = self._store.load(committed + 1, self._program.steps)
        self._outputs.open()
        self._progress.update(self._program, None, 0.0)
        if not self._is_ended and committed >= 0 and not self._checkpoint.has_planned(committed + 1) and self._replays.is_waiting():
            self._replay_alone(committed + 1)
        writer = self._inputs.mixed.writeStream.queryName(self.job.name).foreachBatch(self._on_batch)
        writer = writer.option("checkpointLocation", self._checkpoint.path)
        if self._options.mode == "continuous":
            writer = writer.trigger(processingTime=f"{self._options.trigger_interval_ms} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        self._progress.state = RUNNING
        try:
            self.query = writer.start()
        except Exception as error:
            raise self._explain(error) from error

    def _load_tables(self, committed: int) -> None:
        """Those that are refreshed are as the last batch saw them; the others are loaded anew."""
        versions = TableVersions(self.folder.child(TABLES), int(self._options.setting("state.retain.batches")))
        self._refresh = TableRefresh(self.job, self._program.tables, versions, self._inputs.open_table)
        there = self._refresh.restore(committed, self._checkpoint.last_planned())
        loads = self._program.tables.load(self._inputs.open_table, is_new=committed < 0, has=there)
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
            setting("state.on_limit"),
        )

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
        except BaseException as error:
            # A panic in a library's native code is no Exception. If it left from here, Spark would wait for an answer for ever.
            self._failure = as_job_error(RuntimeError(str(error)), self.job.name)
            raise self._failure from error

    def _explain(self, error: Exception) -> WindrowError:
        """A connector may know what a failure of Spark's means; else it is shown without its stack."""
        for connector in {*(read.connector for read in self.job.reads), *(write.connector for write in self.job.writes)}:
            explain = getattr(runtime_of(connector), "explain_failure", None)
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
        readings = self._inputs.readings(batch_id)
        self._run_batch(batch_id, frame)
        for _, reading, offset in readings:
            reading.committed(offset)

    def _run_batch(self, batch_id: int, frame: DataFrame | None) -> None:
        """``frame`` is what the sources handed over."""
        started = time.monotonic()
        self._refresh.before_batch(batch_id)
        self._progress.stale_tables = self._refresh.troubles()
        now = self._arrival_of(batch_id)
        rows = {} if frame is None else self._inputs.rows(frame, now)
        replay = self._replays.plan(batch_id)
        if replay.letters:
            rows = self._with_replayed(rows, replay, self._spark if frame is None else frame.sparkSession, now)
        result = self._program.run(replace(self._batch_input(batch_id, rows, now), replayed=replay.counts))
        self._commit(result, replay)
        self._refresh.after_batch(batch_id)
        self._progress.update(self._program, result, time.monotonic() - started)

    def _arrival_of(self, batch_id: int) -> int:
        return self._checkpoint.arrival_of(batch_id)

    def _batch_input(self, batch_id: int, rows: dict[str, Select], now: int) -> BatchInput:
        costly = frozenset(name for name in rows if self._inputs.is_raw(name))
        stated = self._inputs.stated_watermarks(batch_id)
        return BatchInput(batch_id, rows, now, costly=costly, stated_watermarks=stated, counting=self._outputs.counting)

    def _with_replayed(self, rows: dict[str, Select], replay: Replay, session: SparkSession, now: int) -> dict[str, Select]:
        both = dict(rows)
        for read in self.job.reads:
            if letters := replay.of(read.name):
                again = self._inputs.replayed(read.name, letters, session, now)
                both[read.name] = Select(rows[read.name].frame.unionByName(again) if read.name in rows else again)
        return both

    def _replay_alone(self, batch_id: int) -> None:
        """Dead letters that wait need no new rows: they are a batch that reads nothing of the sources, noted where Spark notes its own."""
        self._checkpoint.plan_empty(batch_id, time.time_ns() // 1_000_000)
        self._run_batch(batch_id, None)
        self._checkpoint.commit_empty(batch_id)

    def _commit(self, result: BatchResult, replay: Replay = NO_REPLAY, *, is_end: bool = False) -> None:
        """Everything a batch gave becomes durable, state last; each write can be repeated without effect."""
        self._outputs.write(result, replay)
        self._progress.sink_seconds = self._outputs.seconds
        assert result.change is not None
        self._store.save(result.change, is_end=is_end)
        self._program.commit(result)
        if not is_end:
            self._store.settle(self._program.state)

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
            self._release()
            self._finished.set()

    def _await_query(self) -> None:
        """Until the query ends. One that ended because a source is away is begun again, for as long as the job is willing to wait."""
        outage = Outage(RetryRule(first=1.0, give_up_after=float(self._options.setting("outage.max_seconds"))), self._is_stopping)
        while True:
            try:
                if self._progress.state == WAITING:
                    self._inputs.close()
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

    def _release(self) -> None:
        self._outputs.close()
        self._inputs.close()
        self._lease.release()

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
        return replace(self._progress.status(), windows=self._inputs.windows())

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
            self._release()
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
