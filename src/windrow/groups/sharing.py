"""What is really computed once, as the plan has it, and what that costs, as the records of batches have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from windrow.diagnosis.analysis import Analysis
from windrow.groups.member import Member
from windrow.plan.sharing import shared_aggregations
from windrow.plan.stages import Job, LoadTable, Read

# Of a file and a job.
Figures = Mapping[tuple[str, str], Analysis]


@dataclass(frozen=True)
class Cost:
    """What one part of a job took in the batches that were looked at. ``rows`` are those that came in."""

    seconds: float
    share: float
    rows: int | None
    batches: int

    @property
    def words(self) -> str:
        rows = "" if self.rows is None else f" for {self.rows:,} rows"
        return f"{self.seconds:.2f} s{rows} in {self.batches:,} batches, {self.share:.0%} of their time"


@dataclass(frozen=True)
class Shared:
    """``kind`` is source, statement, pass or table; ``users`` are the statements that it serves."""

    kind: str
    file: str
    job: str
    name: str
    users: tuple[str, ...]
    cost: Cost | None = None

    @property
    def words(self) -> str:
        return {
            "source": "read and decoded once",
            "statement": "computed once",
            "pass": "one pass over the rows",
            "table": "loaded once",
        }[self.kind]


def shared_in(member: Member, figures: Figures) -> list[Shared]:
    return [one for job in member.plan.jobs for one in _of_job(member.file, job, figures.get((member.file, job.name)))]


def _of_job(file: str, job: Job, analysis: Analysis | None) -> Iterator[Shared]:
    for stage in job.stages:
        users = tuple(dict.fromkeys(statement_of(reader.name) for reader in job.readers_of(stage.name)))
        users = tuple(user for user in users if user != stage.name)
        if len(users) < 2 or "/" in stage.name:
            continue
        kind = "source" if isinstance(stage, Read) else "table" if isinstance(stage, LoadTable) else "statement"
        yield Shared(kind, file, job.name, stage.name, users, None if kind == "table" else cost_of(analysis, [stage.name]))
    for feed in shared_aggregations(job):
        users = tuple(stage.name for stage in feed.members)
        yield Shared("pass", file, job.name, feed.leader.input, users, cost_of(analysis, users))


def statement_of(stage: str) -> str:
    """What a stage belongs to: parts of a statement are called after it.

    >>> statement_of("totals/join")
    'totals'
    """
    return stage.partition("/")[0]


def cost_of(analysis: Analysis | None, names: Iterable[str]) -> Cost | None:
    """Of the statements of these names with all their parts; None where nothing was recorded."""
    if analysis is None:
        return None
    wanted = set(names)
    own = [one for name, one in analysis.operators.items() if name in wanted or statement_of(name) in wanted]
    seconds = sum(one.seconds for one in own)
    rows = [analysis.operators[name].rows_in for name in wanted if name in analysis.operators]
    known = [count for count in rows if count is not None]
    share = seconds / analysis.seconds if analysis.seconds else 0.0
    return Cost(seconds, share, max(known, default=None), len(analysis.records))
