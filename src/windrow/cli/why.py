"""``windrow why``: why a window is open, what became of a row, where the time goes. Starts no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Reach, SqlFile, State
from windrow.cli.observing import NEWEST, JobName, Newest, observed_jobs
from windrow.cli.project import chosen_for, compile_chosen
from windrow.diagnosis.findings import STANDS_STILL

if TYPE_CHECKING:
    from windrow.jobs.observed import ObservedJob
    from windrow.jobs.window_history import WindowFilter
    from windrow.plan.stages import Aggregate

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
    from windrow.jobs.row_stories import letter_stories, letters_of, row_stories

    jobs = observed_jobs(file, state, None, settings, env)
    if (partition is None) != (offset is None):
        raise UsageError(codes.BAD_VALUE, _NAMED, f"windrow why row {file} {source} {partition or 0} 17")
    if partition is None or offset is None:
        found = [letter for letter in letters_of(jobs) if letter["id"] == source]
        reads = {read.name.lower() for one in jobs for read in one.job.reads}
        if not found and source.lower() in reads:
            raise UsageError(codes.BAD_VALUE, f"which row of {source}? {_NAMED}", f"windrow why row {file} {source} 0 17")
        if not found:
            hint = f"windrow dead-letters list {file} shows their ids; of another row: SOURCE PARTITION OFFSET"
            raise UsageError(codes.NO_SUCH_ROW, f"there is no dead letter {source}", hint)
        stories = list(letter_stories(found, jobs))
    else:
        stories = row_stories(jobs, source, partition, offset, file)
    for story in stories:
        if story.letter:
            print(story.place)
        for line in story.lines:
            print(f"  {line}" if story.letter else line)


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
