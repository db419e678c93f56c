"""``windrow why``: why a window is open, what became of a row, where the time goes. Starts no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Reach, SqlFile, State
from windrow.cli.observing import NEWEST, JobName, Newest, observed_jobs
from windrow.cli.project import chosen_for, compile_chosen
from windrow.diagnosis.findings import STANDS_STILL

if TYPE_CHECKING:
    from windrow.jobs.observed import ObservedJob
    from windrow.jobs.window_history import WindowFilter
    from windrow.plan.stages import Aggregate, Read

_NAMED = "a row is named by its source, partition and offset, or by the id of its dead letter"
# What makes a job late, of all that advice is about.
_SLOW = (
    *STANDS_STILL,
    "idle_partition",
    "silent_partition",
    "slow_partition",
    "slow_sink",
    "retried_batches",
    "event_time_unit",
    "future_rows",
    "stale_table",
)
Statement = Annotated[str, typer.Argument(metavar="STATEMENT", help="The statement whose windows are meant.", show_default=False)]
Key = Annotated[
    list[str] | None, typer.Option("--key", help="A value among the keys of the group; repeatable.", metavar="VALUE", show_default=False)
]
Start = Annotated[str | None, typer.Option("--start", help="When the window begins.", metavar="TIME", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", help="How many windows are told of; 0 tells of all.", min=0)]
Source = Annotated[
    str, typer.Argument(metavar="SOURCE|LETTER", help="The source of the row, or the id of a dead letter.", show_default=False)
]
Partition = Annotated[int | None, typer.Argument(metavar="PARTITION", help="Its partition.", show_default=False)]
Offset = Annotated[int | None, typer.Argument(metavar="OFFSET", help="Its offset there.", show_default=False)]


def why_window(
    file: SqlFile,
    statement: Statement,
    key: Key = None,
    start: Start = None,
    limit: Limit = 5,
    state: State = None,
    settings: Reach = None,
    env: Env = None,
) -> None:
    """Say why windows of a statement are open, or when they closed, with all that they said in the kept batches."""
    from windrow.cli.times import option_time
    from windrow.jobs.window_history import WindowFilter

    observed, stage = _aggregate(file, statement, state, settings, env)
    wanted = WindowFilter(tuple(key or ()), None if start is None else option_time("--start", start) // 1000)
    for line in _told(observed, stage, wanted, limit, file):
        print(line)


def _aggregate(file: str, statement: str, state: str | None, settings: list[str] | None, env: str | None) -> tuple[ObservedJob, Aggregate]:
    from windrow.errors import UsageError
    from windrow.plan.stages import Aggregate

    known: list[str] = []
    for job in compile_chosen(file, chosen_for(file, env)).plan.jobs:
        for stage in job.stages:
            if isinstance(stage, Aggregate) and stage.name.lower() == statement.lower():
                (observed,) = observed_jobs(file, state, job.name, settings, env)
                return observed, stage
        known += [stage.name for stage in job.stages if isinstance(stage, Aggregate)]
    hint = f"those of the file: {', '.join(known)}" if known else "no statement of the file has windows or groups"
    raise UsageError(codes.NO_SUCH_STATEMENT, f"there is no statement with windows called {statement} in {file}", hint)


def _told(observed: ObservedJob, stage: Aggregate, wanted: WindowFilter, limit: int, file: str) -> list[str]:
    from windrow.jobs.window_stories import window_stories

    stories = window_stories(observed, stage, wanted, limit or None, file)
    lines = [f"note: {note}" for note in stories.notes]
    lines += [line for story in stories.told for line in story.lines]
    if limit and stories.total > limit:
        more = stories.total - limit
        lines.append(f"... and {more:,} more {'window' if more == 1 else 'windows'}: --limit 0 tells of all, --key and --start of one")
    return lines if stories.told else [*lines, stories.nothing, *(f"  {reason}" for reason in stories.reasons)]


def why_row(
    file: SqlFile,
    source: Source,
    partition: Partition = None,
    offset: Offset = None,
    state: State = None,
    settings: Reach = None,
    env: Env = None,
) -> None:
    """Say which batch took a row and what became of it: by source, partition and offset, or by the id of a dead letter."""
    from windrow.errors import UsageError
    from windrow.jobs.letters import read_letters

    jobs = observed_jobs(file, state, None, settings, env)
    if (partition is None) != (offset is None):
        raise UsageError(codes.BAD_VALUE, _NAMED, f"windrow why row {file} {source} {partition or 0} 17")
    letters = [letter for one in jobs for found in read_letters(one.folder) for letter in found.records]
    if partition is None:
        found = [letter for letter in letters if letter["id"] == source]
        reads = {read.name.lower() for one in jobs for read in one.job.reads}
        if not found and source.lower() in reads:
            raise UsageError(codes.BAD_VALUE, f"which row of {source}? {_NAMED}", f"windrow why row {file} {source} 0 17")
        if not found:
            hint = f"windrow dead-letters list {file} shows their ids; of another row: SOURCE PARTITION OFFSET"
            raise UsageError(codes.NO_SUCH_ROW, f"there is no dead letter {source}", hint)
    else:
        found = [one for one in letters if (one["source"].lower(), one["partition"], one["offset"]) == (source.lower(), partition, offset)]
    if found:
        _tell_letters(found, jobs)
        return
    assert partition is not None
    assert offset is not None
    for line in _taken(*_read_of(jobs, source, file), partition, offset, file):
        print(line)


def _tell_letters(letters: list[dict[str, Any]], jobs: list[ObservedJob]) -> None:
    from windrow.diagnosis.rows import why_set_aside

    for letter in letters:
        names = {letter["statement"], letter["source"]}
        observed = next((one for one in jobs if names & {stage.name for stage in one.job.stages}), jobs[0])
        place = f"{letter['source']}, partition {letter['partition']}, offset {letter['offset']} (letter {letter['id']})"
        print(place)
        for line in why_set_aside(letter, observed.job):
            print(f"  {line}")


def _read_of(jobs: list[ObservedJob], source: str, file: str) -> tuple[ObservedJob, Read]:
    from windrow.errors import UsageError

    known = [(one, read) for one in jobs for read in one.job.reads]
    found = next(((one, read) for one, read in known if read.name.lower() == source.lower()), None)
    if found is None:
        hint = f"those of the file: {', '.join(read.name for _, read in known)}"
        raise UsageError(codes.NO_SUCH_STATEMENT, f"there is no source called {source} in {file}", hint)
    return found


def _taken(observed: ObservedJob, read: Read, partition: int, offset: int, file: str) -> list[str]:
    """Of a row that is no letter: the batch that read it, by how far each batch had read."""
    from windrow.diagnosis.rows import why_taken
    from windrow.errors import UsageError
    from windrow.jobs.history import JobHistory

    number = observed.job.reads.index(read)
    reached: dict[int, int] = {}
    for batch, offsets in JobHistory(observed.job, observed.state).reached().items():
        topics = offsets[number].values() if number < len(offsets) else ()
        found = [each[str(partition)] for each in topics if isinstance(each, dict) and str(partition) in each]
        if len(found) == 1:
            reached[batch] = int(found[0])
    if not reached:
        message = f"which batch read a row of {read.name} cannot be told: {read.connector} does not number rows by partition and offset"
        hint = f"rows that were set aside are known: windrow dead-letters list {file}"
        raise UsageError(codes.NO_SUCH_ROW, message, hint)
    most = max(reached.values())
    if offset >= most:
        message = f"partition {partition} of {read.name} has been read up to offset {most:,}, and {offset:,} is not before it"
        raise UsageError(codes.NO_SUCH_ROW, message, f"the job has not read it yet: windrow why lag {file}")
    batch = min(number for number, upto in reached.items() if upto > offset)
    if batch == min(reached) and batch > 0:
        return [f"read by batch {batch} or before; it is no dead letter, and what came before is no longer kept"]
    record = next((one for one in observed.records() if one.batch_id == batch), None)
    return why_taken(observed.job, read, record, batch)


def why_lag(
    file: SqlFile, batches: Newest = NEWEST, state: State = None, job: JobName = None, settings: Reach = None, env: Env = None
) -> None:
    """Say where the time of the last batches went, and why event time is as far behind as it is."""
    from windrow.cli.explain import analysis_of, standing
    from windrow.diagnosis.findings import findings
    from windrow.diagnosis.lag import lag_text

    for observed in observed_jobs(file, state, job, settings, env):
        analysis = analysis_of(observed, batches)
        print(standing(observed, analysis))
        print(lag_text(analysis))
        for one in (found for found in findings(analysis, notes=observed.notes(), file=file) if found.kind in _SLOW):
            print(f"hint: {one.text}")
