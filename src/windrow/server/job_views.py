"""What the page and programs see of one job: its folder and its plan, read by what the commands read them with. Starts no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from windrow.compiler import Compiled
from windrow.diagnosis.analysis import Analysis, analyze
from windrow.diagnosis.explained import analysis_json, analysis_text
from windrow.diagnosis.findings import findings, source_of
from windrow.diagnosis.tuning import rounded_up, tuning_curve
from windrow.errors import UsageError
from windrow.jobs.held_windows import held_windows
from windrow.jobs.history import JobHistory, JobVersion
from windrow.jobs.observed import ObservedJob
from windrow.jobs.window_history import WindowFilter
from windrow.jobs.window_stories import window_stories
from windrow.observe.batch_record import BatchRecord, PartitionRecord, SourceRecord, StatementRecord
from windrow.plan.explain_facts import show_window
from windrow.plan.stages import Aggregate, Job
from windrow.server.service import Service
from windrow.sql.durations import show_duration
from windrow.storage.local import LocalFolder

NOT_THERE, NO_STATE, NO_BATCH = "WR922", "WR621", "WR651"
# A page shows no more of them, and asks for one by its key.
_MOST_WINDOWS = 200


@dataclass(frozen=True)
class JobFile:
    """The text that a deployment runs, compiled, and the folder with the state of its jobs."""

    name: str
    compiled: Compiled
    state: LocalFolder

    @property
    def observed(self) -> list[ObservedJob]:
        """Those of its jobs that have begun."""
        return [one for job in self.compiled.plan.jobs if (one := _begun(job, self.state)) is not None]


def _begun(job: Job, state: LocalFolder) -> ObservedJob | None:
    try:
        return ObservedJob.of(job, state)
    except UsageError as error:
        if error.code != NO_STATE:
            raise
        return None


def job_file(service: Service, name: str) -> JobFile:
    return JobFile(name, service.compiled(name), LocalFolder(service.folder(name).state))


def batches(file: JobFile, most: int, after: int | None) -> list[dict[str, Any]]:
    """The records of the newest batches, oldest first, without what only an operator is asked for."""
    return [
        {"job": one.job.name, "batches": [_batch(record) for record in one.records(most) if after is None or record.batch_id > after]}
        for one in file.observed
    ]


def _batch(record: BatchRecord) -> dict[str, Any]:
    return {
        "batch_id": record.batch_id,
        "run": record.run,
        "attempt": record.attempt,
        "arrival": record.arrival,
        "at": record.at,
        "seconds": record.seconds,
        "phases": dict(record.phases),
        "rows_in": record.rows_in,
        "rows_out": sum(sum(one.emissions.values()) for one in record.statements.values()),
        "dead_letters": dict(record.dead_letters),
        "watermark": record.watermark,
        "state_bytes": record.state_bytes,
        "sinks": dict(record.sinks),
        "balanced": record.is_balanced,
        "replayed": record.replayed,
    }


def last_run(observed: ObservedJob, newest: int) -> list[BatchRecord]:
    """Nothing where no batch was recorded yet."""
    try:
        return observed.last_run(newest)
    except UsageError as error:
        if error.code != NO_BATCH:
            raise
        return []


def analysis_of(observed: ObservedJob, newest: int, after: int = -1) -> Analysis | None:
    records = [one for one in last_run(observed, newest) if one.batch_id > after]
    return analyze(observed.job, records) if records else None


def analyses(file: JobFile, newest: int, after: Mapping[str, int] | None = None, *, with_keys: bool = True) -> list[dict[str, Any]]:
    """What ``explain --analyze`` and ``advise`` say, as figures and as text; of the batches ``after`` one of each job.

    Keys of groups are data, and may be unwanted.
    """
    told = []
    for observed in file.observed:
        analysis = analysis_of(observed, newest, (after or {}).get(observed.job.name, -1))
        if analysis is not None:
            found = findings(analysis, observed.heaviest() if with_keys else {})
            told.append({**analysis_json(analysis, found), "text": analysis_text(analysis, found), "late": list(_late(analysis))})
    return told


def _late(analysis: Analysis) -> Iterator[dict[str, Any]]:
    """Of the late rows of every statement, what each longer delay or lateness would have taken."""
    for name, own in analysis.statements.items():
        source = source_of(analysis, name)
        delay = 0 if source is None else analysis.sources[source].clock.delay
        points = [
            {
                "delay": show_duration(rounded_up(delay + point.extra)),
                "lateness": show_duration(rounded_up(own.last.lateness + point.extra)) if name not in analysis.sources else "",
                "saved": point.saved,
                "in_time": point.in_time,
                "share": point.share,
            }
            for point in tuning_curve(own.late_by, own.corrected_by)
        ]
        if points:
            late, corrected = sum(own.late_by.values()), sum(own.corrected_by.values())
            yield {"statement": name, "total": late, "corrected": corrected, "points": points}


# Windows


def windows(file: JobFile) -> list[dict[str, Any]]:
    return [told for observed in file.observed for told in _windows_of(observed)]


def _windows_of(observed: ObservedJob) -> Iterator[dict[str, Any]]:
    records = last_run(observed, 1)
    last = records[-1] if records else BatchRecord()
    batch, states = JobHistory(observed.job, observed.state).open_state(None)
    held = {state.statement: state for state in states}
    for stage in observed.job.stages:
        if isinstance(stage, Aggregate):
            own = last.statements.get(stage.name, StatementRecord())
            yield {
                "job": observed.job.name,
                "statement": stage.name,
                "window": None if stage.window is None else show_window(stage.window),
                "batch": batch,
                "arrival": last.arrival or None,
                "watermark": own.after,
                "lateness": stage.lateness,
                **held_windows(held.get(stage.name), _MOST_WINDOWS),
                "sources": [_source(name, last.sources[name]) for name in _sources(observed.job, stage, last)],
            }


def _sources(job: Job, stage: Aggregate, last: BatchRecord) -> list[str]:
    from windrow.diagnosis.windows import sources_of

    return [read.name for read in sources_of(job, stage.name) if read.name in last.sources]


def _source(name: str, source: SourceRecord) -> dict[str, Any]:
    return {
        "source": name,
        "watermark": source.after,
        "delay": source.delay,
        "idle_timeout": source.idle_timeout,
        "is_ended": source.is_ended,
        "left_out": source.left_out,
        "partitions": [_partition(number, one, source) for number, one in sorted(source.partitions.items())],
    }


def _partition(number: int, one: PartitionRecord, source: SourceRecord) -> dict[str, Any]:
    mark = None if one.greatest is None else one.greatest - source.delay
    return {
        "partition": number,
        "reached": one.greatest,
        "watermark": mark,
        "seen_at": one.seen_at or None,
        "is_idle": number in source.idle,
    }


def why_window(file: JobFile, statement: str, keys: tuple[str, ...], start: int | None, most: int) -> dict[str, Any]:
    for observed in file.observed:
        for stage in observed.job.stages:
            if isinstance(stage, Aggregate) and stage.name.lower() == statement.lower():
                stories = window_stories(observed, stage, WindowFilter(keys, start), most)
                told = [
                    {"title": one.title, "is_held": one.is_held, "why": list(one.why), "said": list(one.said), "text": "\n".join(one.lines)}
                    for one in stories.told
                ]
                return {"windows": told, "total": stories.total, "nothing": stories.nothing}
    known = [stage.name for job in file.compiled.plan.jobs for stage in job.stages if isinstance(stage, Aggregate)]
    hint = f"those of it: {', '.join(known)}" if known else "no statement of it has windows or groups"
    raise UsageError(NOT_THERE, f"there is no statement with windows called {statement} in {file.name} that has begun", hint)


# State


def state_versions(file: JobFile) -> list[dict[str, Any]]:
    """The newest first, each with the windows and groups of the newest beside."""
    return [_states(observed) for observed in file.observed]


def _states(observed: ObservedJob) -> dict[str, Any]:
    history = JobHistory(observed.job, observed.state)
    return {
        "job": observed.job.name,
        "runner": observed.runner,
        "is_ended": history.is_ended,
        "stays": history.lasting(),
        "versions": [_version(one) for one in history.versions()],
    }


def _version(one: JobVersion) -> dict[str, Any]:
    return {**asdict(one), "files": list(one.files), "written_at": int(one.written_at * 1000)}


def open_state(observed: ObservedJob, batch: int | None, most: int) -> dict[str, Any]:
    """What every statement held after a batch: how much, and the first windows or groups."""
    after, held = JobHistory(observed.job, observed.state).open_state(batch)
    told = [{"statement": one.statement, "home": one.home, "bytes": one.bytes, **held_windows(one, most)} for one in held]
    return {"job": observed.job.name, "batch": after, "statements": told}
