"""One streaming query a job, from start to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.compiler import Compiled
from windrow.connectors.spec import BATCH_TARGET
from windrow.connectors.zones import in_zone
from windrow.errors import JobError, OutageError, SparkLostError, UsageError, WindrowError
from windrow.jobs.alert_watch import AlertWatch, alerts_about
from windrow.jobs.batch_records import BatchRecordLog
from windrow.jobs.changed_file import known_jobs, refuse_changed_file
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.connector_loader import connector_of
from windrow.jobs.cut_overs import as_it_runs, forget_old, is_over
from windrow.jobs.event_watch import EVENTS, EventWatch
from windrow.jobs.failures import as_job_error, fault_of_query, lost_part
from windrow.jobs.handle import Jobs
from windrow.jobs.identity import LETTERS, RECORDS, REPLAYS, TABLES, Origin, about_of, claim, count_start, read_card, state_parts
from windrow.jobs.inputs import Inputs
from windrow.jobs.jar_needs import with_needed_jars
from windrow.jobs.job_versions import number_of
from windrow.jobs.lineage_events import lineage_events
from windrow.jobs.options import IMAGE, PACK, RunOptions
from windrow.jobs.outage import Outage
from windrow.jobs.outputs import Outputs
from windrow.jobs.outside_view import OutsideView
from windrow.jobs.pacing import Pacing
from windrow.jobs.pending import refuse_unfinished_rollback
from windrow.jobs.progress import Progress
from windrow.jobs.quarantine import Quarantine
from windrow.jobs.recording import BatchRecording
from windrow.jobs.replays import NO_REPLAY, Replay, ReplayLog
from windrow.jobs.rows import KeptRows, Rows
from windrow.jobs.state_folder import job_folder, prepared, state_folder
from windrow.jobs.stop_wishes import StopWatch
from windrow.jobs.tracing import tracing
from windrow.jobs.worker_needs import WorkerNeeds
from windrow.observe.alert_rules import AlertRule
from windrow.observe.event import INFO, Event
from windrow.observe.log_context import log_context
from windrow.observe.status import ENDED, FAILED, PERMANENT, RUNNING, STOPPED, TRANSIENT, WAITING, FastPath, JobAbout, JobStatus, TableLoad
from windrow.observe.traces import Producers, batch_trace_id
from windrow.plan.cut_over import closed_for_good, without_old
from windrow.plan.stages import Job, Write
from windrow.resilience import RetryRule, StoppedWaitingError
from windrow.serving import Serving
from windrow.spark.execution.batch import BatchInput, BatchResult
from windrow.spark.execution.executor import BatchExecutor
from windrow.spark.execution.measurements import BatchMeasurements, Phase
from windrow.spark.internals.fast_paths import fast_paths_of
from windrow.spark.internals.java_process import JavaProcess, mute_lost_calls, stop_session
from windrow.spark.internals.sessions import has_stopped
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.query.runner import LazyRelation
from windrow.spark.session import adopt_session, keep_checkpoints_elsewhere, make_session
from windrow.spark.state.backends import StateBackendRules
from windrow.spark.state.state_store import StateStore
from windrow.spark.tables.refresh import TableRefresh
from windrow.spark.tables.versions import TableVersions
from windrow.storage import Folder, StorageError
from windrow.storage.lease import Lease, LeaseTerm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LOG = logging.getLogger(__name__)
# How long a stop waits for Spark to note the last batch as done. Should it not come to that, the batch simply runs again.
COMMIT_SECONDS = 10.0
# How long after the end of Java a wish to stop may come and still be what ended it.
WISH_SECONDS = 2.0


def start(
    compiled: Compiled,
    options: RunOptions,
    spark: SparkSession | None = None,
    on_load: Callable[[TableLoad], None] | None = None,
    serving: Serving | None = None,
) -> Jobs:
    """Start every job of a plan. With a given session, its cluster is used and its own settings stay untouched.

    ``on_load`` is told of tables as they are loaded, from several threads. ``serving`` answers for the jobs, from before they begin until
    the handle is closed.
    """
    if not compiled.plan.jobs:
        raise UsageError("WR620", "there is nothing to run: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT")
    is_own = spark is None
    if spark is None:
        needed = with_needed_jars(options.spark_settings, options.master, compiled.plan.jobs, [str(options.state)])
        session = make_session(options.master, needed, has_fast_paths=options.has_fast_paths)
    else:
        if sent := [key for key in (PACK, IMAGE) if key in options.settings]:
            hint = "leave it out, and set PYSPARK_PYTHON and spark.archives where that session is made"
            raise UsageError("WR646", f"{sent[0]} is settled when a session starts, and one was given", hint)
        session = adopt_session(spark, options.spark_settings, has_fast_paths=options.has_fast_paths)
    session = in_zone(session, compiled.plan.jobs[0].time_zone)
    mute_lost_calls(session)
    running: list[RunningJob] = []
    try:
        _refuse_changed_file(session, compiled, options)
        WorkerNeeds(session, compiled.plan.jobs, options.state_backend).check()
        origin = Origin.of(compiled.script, compiled.plan)
        about = about_of(compiled.plan, options.environment, session.version)
        for job in compiled.plan.jobs:
            alerts = alerts_about(compiled.plan, job, options.stalled_after)
            running.append(RunningJob(session, job, options, on_load, origin, about, alerts))
        if serving is not None:
            serving.watch(lambda: [one.status(is_deep=True) for one in running])
        for one in running:
            one.start()
    except BaseException:
        for one in running:
            one.stop()
        if is_own:
            stop_session(session)
        raise
    return Jobs(running, session if is_own else None, serving)


def _refuse_changed_file(spark: SparkSession, compiled: Compiled, options: RunOptions) -> None:
    known = known_jobs(state_folder(options.state, spark), lambda folder: Checkpoint(folder).has_begun())
    refuse_changed_file(known, compiled.plan.jobs, compiled.plan.file)


class RunningJob:
    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        options: RunOptions,
        on_load: Callable[[TableLoad], None] | None = None,
        origin: Origin | None = None,
        about: JobAbout = JobAbout(),  # noqa: B008 (frozen)
        alerts: Sequence[AlertRule] = (),
    ) -> None:
        self.job = job
        self._tell_load = on_load or (lambda _load: None)
        self.folder: Folder = prepared(job_folder(options.state, job.name, spark))
        self._spark = spark
        self._fast_paths = fast_paths_of(spark)
        self._java = JavaProcess.of(spark)
        self._options = options
        self._needs = WorkerNeeds(spark, [job], options.state_backend)
        self._checkpoint = Checkpoint(self.folder)
        self._replays = ReplayLog(self.folder.child(REPLAYS))
        self._progress = Progress(job.name)
        # Batches up to this one may have run before.
        self._ran_before = -1
        limits = options.limit("state.max_bytes"), options.limit("state.max_groups")
        named = zip(("state.max_bytes", "state.max_groups"), limits, strict=True)
        self._limits = {name: limit for name, limit in named if limit is not None}
        self._recording = BatchRecording(BatchRecordLog(self.folder.child(RECORDS)), *limits)
        self._events = EventWatch(job.name, self.folder.child(EVENTS), self._glance, fields=self._log_fields)
        self._alerts = AlertWatch(job.name, alerts, self.folder, lambda: self.status(is_deep=True), self._events.tell)
        self.query: StreamingQuery | None = None
        self._failure: WindrowError | None = None
        self._is_stopping = threading.Event()
        self._in_batch = threading.Lock()
        self._finished = threading.Event()
        self._lease = Lease(self.folder, job.name, LeaseTerm(float(options.setting("state.lease.seconds"))), self._on_lease_lost)
        try:
            refuse_unfinished_rollback(self.folder, job.name)
            state_part, self._buckets_part = state_parts(self.folder)
            self._outside = OutsideView(spark, self._java, self.folder.child(state_part))
            for part in (self.folder, self.folder.child(state_part), self.folder.child(LETTERS)):
                part.remove_leftovers()
            job_id = self._id = claim(self.folder, job, origin, has_begun=self._checkpoint.has_begun())
            self._progress.about = replace(about, starts=count_start(self.folder))
            card = read_card(self.folder)
            self.job = as_it_runs(job, self.folder, card, is_looked_at=False)
            # A batch of before may have been one of both texts of the job.
            self._steps = steps_of(self.job)
            self._store = StateStore(
                self.folder.child(state_part),
                int(options.setting("state.snapshot.every")),
                int(options.setting("state.retain.batches")),
                meanings=column_meanings(self.job),
            )
            self._pacing = Pacing(self.job, options.setting(BATCH_TARGET.key), spark)
            self._inputs = self._make_inputs()
            self._kept = KeptRows(options.keep_rows, is_whole=options.keeps_system_columns) if options.keep_rows else None
            self._tracing = tracing(job, job_id, options)
            told = (job, job_id, self._recording.run, number_of(card), origin or Origin(), options)
            self._lineage = lineage_events(*told, look=lambda: self._progress.last)
            self._quarantine = Quarantine(spark, self.job, self.folder.child(LETTERS), self._replays)
            self._outputs = self._make_outputs(job_id)
            self._progress.sink_errors = self._outputs.errors
            self._stop_watch = StopWatch(self.folder, job.name, self._lease.owner, self.stop)
        except BaseException:
            self._lease.release()
            raise

    def _on_load(self, load: TableLoad) -> None:
        self._progress.take_load(load)
        self._tell_load(load)

    def _make_inputs(self) -> Inputs:
        return Inputs(self._spark, self.job, self._options, self.folder, self._checkpoint, self._is_stopping, self._on_load, self._pacing)

    def _make_outputs(self, job_id: str) -> Outputs:
        given = (self._spark, self.job, self._options, self.folder, job_id, self._is_stopping, self._quarantine, self._kept, self._tracing)
        return Outputs(*given, check=self._lease.check, failed=self._on_output_failed)

    def start(self) -> None:
        self._events.begin()
        self._alerts.begin()
        self._begin()
        threading.Thread(target=self._watch, name=f"windrow-{self.job.name}", daemon=True).start()
        self._stop_watch.begin()

    def _begin(self) -> None:
        """Go on from what is durable: at the start of a job, and after an outage of a source."""
        self._lease.check()
        self._inputs.open()
        self._executor = BatchExecutor(self._spark, self.job, self._inputs.partitions, self._state_rules(), facts=self._inputs.facts)
        self._inputs.prepare(self._executor.plan)
        committed, self._ran_before = self._checkpoint.last_committed(), self._checkpoint.last_planned()
        self._quarantine.settle(committed)
        self._load_tables(committed)
        self._store.forget_after(committed)
        self._checkpoint.forget_unplanned_files(len(self.job.reads) + 1)
        self._executor.state = self._store.load(committed, self._steps)
        self._is_ended = self._store.has_end(committed + 1)
        if self._is_ended:
            self._executor.state = self._store.load(committed + 1, self._steps)
        self._leave_old_text()
        self._outputs.open(committed + 1 if self._is_ended else committed)
        self._executor.facts = replace(
            self._executor.facts, counting_sinks=self._outputs.counting - {stage for stage, _ in self.job.metrics}
        )
        self._progress.update(self._executor, None)
        self._recording.begin(self._executor, self._checkpoint.last_planned(), self._progress.last)
        if not self._is_ended and committed >= 0 and not self._checkpoint.has_planned(committed + 1) and self._replays.is_waiting():
            self._replay_alone(committed + 1)
        if not self.folder.is_local:
            keep_checkpoints_elsewhere(self._spark)
        self._checkpoint.fit_ticks(len(self.job.reads), has_ticks=self._inputs.has_ticks)
        writer = self._inputs.mixed.writeStream.queryName(self.job.name).foreachBatch(self._on_batch)
        writer = writer.option("checkpointLocation", self._checkpoint.uri)
        if self._options.mode == "continuous":
            writer = writer.trigger(processingTime=f"{self._options.trigger_interval_ms} milliseconds")
        else:
            writer = writer.trigger(availableNow=True)
        self._come_to(RUNNING)
        if self._lineage is not None:
            self._lineage.begin()
        try:
            self.query = writer.start()
        except Exception as error:
            raise self._explain(error) from error

    def _leave_old_text(self) -> None:
        """Once the windows of an earlier text are closed for good, the job goes on without its stages."""
        before = self._executor
        if not closed_for_good(self.job) or not is_over(self.job, before.state):
            return
        forget_old(self.job, before.state)
        self.job = without_old(self.job)
        rules = self._state_rules()
        self._executor = BatchExecutor(self._spark, self.job, self._inputs.partitions, rules, before.tables, before.facts)
        self._executor.state = before.state
        LOG.info("the windows of the text before are closed: job %s goes on without it", self.job.name)

    def _load_tables(self, committed: int) -> None:
        """Those that are refreshed are as the last batch saw them; the others are loaded anew."""
        versions = TableVersions(self.folder.child(TABLES), int(self._options.setting("state.retain.batches")))
        self._refresh = TableRefresh(self._executor.plan, self._executor.tables, versions, self._inputs.open_table)
        there = self._refresh.restore(committed, self._checkpoint.last_planned())
        loads = self._executor.tables.load(self._inputs.open_table, is_new=committed < 0, has=there)
        self._refresh.note_loaded(loads)
        for loaded in loads:
            self._on_load(TableLoad(loaded.name, loaded.rows.num_rows, None, loaded.seconds, is_done=True))

    def _state_rules(self) -> StateBackendRules:
        """Executors write their share of the state themselves, so the folder must be one that all of them reach."""
        setting = self._options.setting
        there = self._needs.state_files(self.folder)
        return StateBackendRules(
            None if there is None else there.child(self._buckets_part),
            self._options.state_backend,
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
            with self._in_batch, log_context(**self._log_fields(batch_id)):
                self._progress.batch_since = time.time()
                self._take(frame, batch_id)
        except StoppedWaitingError:
            raise
        except WindrowError as error:
            name = self.job.name
            self._failure = self._java.loss(error, name) or fault_of_query(error, name) or lost_part(error, name) or error
            raise
        except Exception as error:
            self._failure = self._explain(error)
            raise
        except BaseException as error:
            # A panic in a library's native code is no Exception. If it left from here, Spark would wait for an answer for ever.
            self._failure = as_job_error(RuntimeError(str(error)), self.job.name)
            raise self._failure from error
        finally:
            self._progress.batch_since = None

    def _explain(self, error: Exception) -> WindrowError:
        """A connector may know what a failure of Spark's means; else it is shown without its stack."""
        if (lost := self._java.loss(error, self.job.name)) is not None:
            return lost
        if (part := lost_part(error, self.job.name)) is not None:
            return part
        for connector in {*(read.connector for read in self.job.reads), *(write.connector for write in self.job.writes)}:
            known = connector_of(connector).explain_failure(error)
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
        # Before the executors write their share of the state, too.
        self._lease.check()
        self._needs.check()
        readings = self._inputs.readings(batch_id)
        self._run_batch(batch_id, frame)
        for _, reading, offset in readings:
            reading.committed(offset)

    def _run_batch(self, batch_id: int, frame: DataFrame | None) -> None:
        """``frame`` is what the sources handed over."""
        measured = BatchMeasurements()
        attempt = self._recording.count(batch_id)
        span = {} if self._tracing is None else {"span_id": self._tracing.attempt_id(batch_id, measured)}
        with log_context(attempt=attempt, **span), nullcontext() if self._tracing is None else self._tracing.attempt(batch_id, measured):
            self._process(batch_id, frame, measured)

    def _log_fields(self, batch_id: int = -1) -> dict[str, object]:
        """What a line of the log says of the job, and of a batch."""
        about = self._progress.about
        known = {"job": self.job.name, "pipeline": about.pipeline, "version": about.version, "env": about.environment}
        fields: dict[str, object] = {name: value for name, value in known.items() if value}
        fields["run_id"] = self._recording.run
        return {**fields, "batch_id": batch_id, "trace_id": f"{batch_trace_id(self._id, batch_id):032x}"} if batch_id >= 0 else fields

    def _process(self, batch_id: int, frame: DataFrame | None, measured: BatchMeasurements) -> None:
        self._refresh.before_batch(batch_id)
        self._progress.stale_tables = self._refresh.troubles()
        now = self._arrival_of(batch_id)
        rows = {} if frame is None else self._inputs.rows(frame, now, self._executor.plan)
        replay = self._replays.plan(batch_id, is_again=batch_id <= self._ran_before, at_once=frame is None)
        if replay.letters:
            rows = self._with_replayed(rows, replay, self._spark if frame is None else frame.sparkSession, now)
        producers = None if self._tracing is None else Producers()
        given = self._batch_input(batch_id, rows, now)
        result = self._executor.run(
            replace(given, replayed=replay.taken_back, returned=replay.returned, measured=measured, producers=producers)
        )
        self._commit(result, replay)
        with measured.phase(Phase.COMMIT):
            self._refresh.after_batch(batch_id)
        self._progress.update(self._executor, result)
        self._recording.take(result, now, self._inputs.arrived, self._progress.last, replayed=len(replay.letters))
        self._pacing.after(
            self.query, (measured.now - measured.started) / 1e9, {name: account.rows_in for name, account in result.ledger.sources.items()}
        )
        self._outside.after_batch(self.query)
        self._events.look()
        for told in self._quarantine.settle(batch_id):
            self._events.tell(
                Event("letters.rule", told.rule.notify or INFO, self.job.name, batch_id, told.message, time.time(), told.details)
            )
        if self._tracing is not None:
            self._tracing.committed(result, producers)
        self._leave_old_text()

    def _arrival_of(self, batch_id: int) -> int:
        return self._checkpoint.arrival_of(batch_id)

    def _batch_input(self, batch_id: int, rows: dict[str, LazyRelation], now: int) -> BatchInput:
        return BatchInput(batch_id, rows, now, stated_watermarks=self._inputs.stated_watermarks(batch_id))

    def _with_replayed(self, rows: dict[str, LazyRelation], replay: Replay, session: SparkSession, now: int) -> dict[str, LazyRelation]:
        both = dict(rows)
        for read in self.job.reads:
            if letters := replay.of(read.name):
                again = self._inputs.replayed(read.name, letters, session, now)
                both[read.name] = LazyRelation(rows[read.name].frame.unionByName(again) if read.name in rows else again)
        return both

    def _replay_alone(self, batch_id: int) -> None:
        """Dead letters that wait need no new rows: they are a batch that reads nothing of the sources, noted where Spark notes its own."""
        self._checkpoint.plan_empty(batch_id, time.time_ns() // 1_000_000)
        self._run_batch(batch_id, None)
        self._checkpoint.commit_empty(batch_id)

    def _replay_what_waits(self) -> None:
        """No more rows come in this run: what rules repaired of the last ones goes on now, each letter as often as its rule allows."""
        while self._replays.is_waiting() and not self._is_ended and not self._is_stopping.is_set():
            batch_id = self._executor.state.batch_id + 1
            self._replay_alone(batch_id)
            if not self._replays.has_noted(batch_id):
                return

    def _commit(self, result: BatchResult, replay: Replay = NO_REPLAY, *, is_end: bool = False) -> None:
        """Everything a batch gave becomes durable, state last; each write can be repeated without effect.

        A driver that is no longer the owner of the job's folder stops here: what it has computed, another one writes.
        """
        self._lease.check()
        self._outputs.write(result, replay)
        self._progress.sink_seconds = self._outputs.seconds
        assert result.change is not None
        with result.measured.phase(Phase.COMMIT):
            self._lease.check()
            self._store.save(result.change, is_end=is_end)
            self._executor.commit(result)
            if not is_end:
                self._store.settle(self._executor.state)
            self._outputs.committed(result.batch_id)

    def _watch(self) -> None:
        """Wait for the query in the background, then do what comes after it."""
        with log_context(**self._log_fields()):
            self._wait_and_release()

    def _wait_and_release(self) -> None:
        try:
            self._run_to_end()
            self._come_to(STOPPED if self._is_stopping.is_set() else ENDED)
        except WindrowError as error:
            self._end_by(error)
        except Exception as error:
            if self._failure is None and self._is_stopping.is_set() and self._java.loss(error, self.job.name) is None:
                self._come_to(STOPPED)
            else:
                self._end_by(self._failure or self._explain(error))
        finally:
            self._progress.ended_at = time.time()
            self._stop_watch.close()
            self._release()
            self._finished.set()

    def _run_to_end(self) -> None:
        """Until the query ends, and its windows are closed if that is wanted.

        What ended because a source is away, or because a worker of Spark did not start in time, is begun again from what is durable,
        for as long as the job is willing to wait.
        """
        outage = Outage(RetryRule(first=1.0, give_up_after=float(self._options.setting("outage.max_seconds"))), self._is_stopping)
        while True:
            try:
                if self._progress.state == WAITING:
                    self._inputs.close()
                    self._begin()
                    self._progress.error = None
                assert self.query is not None
                self.query.awaitTermination()
                if self._failure is not None:
                    # The lease was lost between two batches: the query was stopped from outside, which it takes for an end.
                    raise self._failure
                self._check_that_spark_is_there()
                if self._options.mode != "continuous":
                    self._replay_what_waits()
                if self._options.mode == "until_end" and not self._is_stopping.is_set() and not self._is_ended:
                    self._end()
                if self._options.mode != "continuous" and not self._is_stopping.is_set():
                    self._outputs.drain()
                return
            except Exception as error:
                self._failure = self._failure or self._lease_fault()
                found = self._failure or (error if isinstance(error, WindrowError) else self._explain(error))
                if not isinstance(found, OutageError) or not outage.wait(self._executor.state.batch_id):
                    raise
                self._failure = None
                self._progress.retries += 1
                self._progress.note_error(found.code, TRANSIENT)
                self._come_to(WAITING, f"waits: {found.message}")
                LOG.warning("%s [%s]; batch %d is tried again", found.message, found.code, self._executor.state.batch_id + 1)

    def _check_that_spark_is_there(self) -> None:
        """A query also ends, without an error, when Spark is being ended: that is not the end of its input."""
        if not self._is_stopping.is_set() and has_stopped(self._spark):
            raise JobError(
                "WR850", f"job {self.job.name} stopped: SparkContext was shut down", "run the same command again: nothing is lost"
            )

    def _on_lease_lost(self, error: WindrowError) -> None:
        """The heartbeat found out: nothing is to be planned any more. What a batch under way wants to write is refused by the lease."""
        self._end_with(error)

    def _on_output_failed(self, error: WindrowError) -> None:
        """Rows that waited for an output cannot be delivered. A batch under way is told when it comes to that output."""
        self._end_with(error)

    def _end_with(self, error: WindrowError) -> None:
        self._failure = self._failure or error
        if self.query is not None:
            with suppress(Exception):  # Spark may be gone itself.
                self.query.stop()

    def _lease_fault(self) -> WindrowError | None:
        """Where another driver has taken over, Spark stumbles over what that one wrote to the checkpoint: this is why."""
        try:
            self._lease.check()
        except StorageError:
            return None
        except WindrowError as error:
            return error
        return None

    def _release(self) -> None:
        told = (one.close for one in (self._tracing, self._lineage) if one is not None)
        watches = (self._alerts.close, self._events.close)
        for close in (self._outputs.close, self._inputs.close, self._recording.close, *watches, *told):
            try:
                close()
            except Exception:
                # What Spark held for them is gone with it.
                if not self._java.has_ended():
                    raise
        self._lease.release()

    def _end_by(self, error: WindrowError) -> None:
        """Who ends every process at once ends Java first now and then: the wish to stop is on its way, and the job has not failed."""
        if isinstance(error, SparkLostError) and self._is_stopping.wait(WISH_SECONDS):
            self._failure = error
            self._come_to(STOPPED)
        else:
            self._fail(error)

    def _fail(self, error: WindrowError) -> None:
        self._failure = error
        self._progress.note_error(error.code, PERMANENT)
        self._come_to(FAILED, str(error))

    def _come_to(self, state: str, error: str | None = None) -> None:
        self._progress.state, self._progress.error = state, error if error is not None else self._progress.error
        self._recording.note(state, error)

    def _end(self) -> None:
        """The input is over: close every window, as a batch of its own."""
        batch_id = self._executor.state.batch_id + 1
        now = max((clock.now or 0 for clock in self._executor.state.clocks.values()), default=0)
        result = self._executor.run(BatchInput(batch_id, {}, now, is_end=True))
        self._commit(result, is_end=True)
        self._progress.update(self._executor, result)
        self._recording.take(result, now, {}, self._progress.last, is_end=True)
        if self._tracing is not None:
            self._tracing.committed(result)

    def _glance(self) -> JobStatus:
        """What events are found by: nothing that has to be counted."""
        known = self._progress.last
        return replace(known, limits=self._limits, unread_files=self._inputs.unread_files(known.batch_id))

    def status(self, *, is_deep: bool = False) -> JobStatus:
        """``is_deep``: also what Spark and the file system must be asked for."""
        paths = tuple(FastPath(one.name, one.speeds_up, one.instead, one.why_off) for one in self._fast_paths.states())
        known = self._progress.status()
        outputs, (windows, unread) = self._outputs.statuses(known.ledger), self._inputs.reports()
        ledger = known.ledger.with_unread_files(Counter(file.source for file in unread)) if unread else known.ledger
        status = replace(known, windows=windows, fast_paths=paths, limits=self._limits, sources=self._pacing.shown(known.sources))
        status = replace(status, outputs=outputs, unread_files=unread, ledger=ledger, history_bytes=self._outputs.history_bytes)
        if self._tracing is not None:
            rows, found = self._tracing.rows_seen, self._tracing.rows_with_context
            status = replace(status, counts=replace(status.counts, traced_rows=rows, with_context=found))
        return self._outside.completed(status, self.query) if is_deep else status

    @property
    def is_active(self) -> bool:
        return self.query is not None and not self._finished.is_set()

    def rows_of(self, write: Write, up_to: int | None = None) -> Rows:
        if self._kept is None:
            hint = "windrow.run(..., keep=10_000) keeps the newest of each statement, windrow.sql(...) does so by itself"
            raise UsageError("WR640", f"the rows of {write.input} went to their output, and none were kept", hint)
        empty = pa.table({column.name: pa.array([], pa.null()) for column in write.columns})
        return self._kept.rows(write.input, empty, self._spark, up_to)

    def await_finished(self, seconds: float) -> None:
        self._finished.wait(seconds)

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
        try:
            self._stop_query(self.query)
        except Exception as error:
            if self._java.loss(error, self.job.name) is None:
                raise
        self._finished.wait(60)

    def _stop_query(self, query: StreamingQuery) -> None:
        deadline = time.monotonic() + COMMIT_SECONDS
        while query.isActive and query.status["isTriggerActive"] and time.monotonic() < deadline:
            time.sleep(0.05)
        query.stop()
