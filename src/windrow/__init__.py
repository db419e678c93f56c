"""Windrow: streaming SQL with event-time windows, on Apache Spark.

>>> import windrow
>>> compiled = windrow.compile('''
...     CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT)
...       WITH ('connector' = 'generator', 'event.time.field' = 'ts', 'rows' = '100');
...     SELECT symbol, MAX(price) AS high FROM trades GROUP BY symbol WINDOW TUMBLING(1m);
... ''')
>>> [job.name for job in compiled.plan]
['out']
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from windrow.allocator import keep_memory
from windrow.errors import JobError, SqlError, UsageError, WindrowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.compiler import Compiled
    from windrow.groups import Member
    from windrow.groups.effects import Impact
    from windrow.groups.report import GroupReport
    from windrow.jobs import Jobs
    from windrow.jobs.building import Building
    from windrow.jobs.options import Mode
    from windrow.jobs.rehearsal import Rehearsal
    from windrow.jobs.rows import Rows
    from windrow.jobs.switching import JobSwitch, Review
    from windrow.lineage import Lineage

__version__ = "0.1.0"
__all__ = [
    "JobError",
    "SqlError",
    "UsageError",
    "WindrowError",
    "apply",
    "compile",
    "docs",
    "group",
    "history",
    "impact",
    "lineage",
    "plan",
    "rehearse",
    "rollback",
    "run",
    "sql",
]
# Functions that have the name of a package.
_FUNCTIONS = frozenset({"lineage", "plan", "sql"})

# Before anything imports Polars, which reads it once.
keep_memory()


def compile(sql: str, *, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Compiled:  # noqa: A001  # the name users expect
    """Parse, check and plan SQL text. Raises SqlError with every diagnostic at once. Starts no Spark."""
    from windrow.compiler import compile_sql
    from windrow.settings import environment

    return compile_sql(sql, name, environment() if env is None else env)


def run(
    sql: str | Compiled,
    *,
    spark: SparkSession | None = None,
    mode: Mode = "continuous",
    state: Path | str = Path(".windrow/notebook"),
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    keep: int = 0,
    listen: str | None = None,
    listen_token: str | None = None,
) -> Jobs:
    """Run SQL text, or what ``compile`` gave, and return at once with a handle: ``status()``, ``stop()``, ``await_end()``.

    With ``keep``, so many of the newest rows of each output are kept for ``output(name)`` and ``preview()`` of the handle. ``listen``
    (such as ``"127.0.0.1:9464"``) serves metrics, health and status there; another address than loopback needs a token.
    """
    from windrow.jobs import RunOptions, start

    compiled = compile(sql) if isinstance(sql, str) else sql
    options = RunOptions(mode, state, master, settings or {}, keep_rows=keep)
    if listen is None:
        return start(compiled, options, spark)
    from windrow.serving import Serving, parse_listen
    from windrow.settings import load_settings

    serving = Serving(parse_listen(listen, listen_token or load_settings().listen_token), options.stalled_after)
    try:
        return start(compiled, options, spark, serving=serving)
    except BaseException:
        serving.close()
        raise


def sql(
    text: str,
    *,
    name: str | None = None,
    spark: SparkSession | None = None,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    keep: int = 1_000_000,
    show: bool | None = None,
) -> Rows:
    """Run SQL over what is there, to its end, and give the rows of the last statement, or of the one that ``name`` names.

    Nothing is remembered between two calls. Without ``spark`` it runs in the active session, or in one that it makes and leaves open.
    A plain SELECT prints nothing; statements that name an output write to it as well.
    """
    import tempfile

    from windrow.compiler import compile_script
    from windrow.jobs import RunOptions, start
    from windrow.jobs.options import session_settings
    from windrow.settings import environment
    from windrow.spark.session import make_session
    from windrow.sql import parse

    compiled = compile_script(parse(text, "<sql>", environment() if env is None else env), bare_sink="memory")
    session = spark or _active_session() or make_session(master, session_settings(settings or {}))
    with tempfile.TemporaryDirectory(prefix="windrow-sql-", ignore_cleanup_errors=True) as state:
        jobs = start(compiled, RunOptions("until_end", state, master, settings or {}, keep_rows=keep), session)
        try:
            jobs.await_end(show=show)
        finally:
            jobs.stop()
        return jobs.output(name)


def lineage(*files: Path | str | Compiled) -> Lineage:
    """Which columns follow from which, in SQL files or in what ``compile`` gave: ``edges``, ``columns``, and what is read and written."""
    from windrow.lineage import Lineage

    return Lineage.together(_member(file).lineage for file in files)


def group(*files: Path | str | Compiled) -> GroupReport:
    """Several files together: ``group.links()``, ``group.conflicts()``, ``shared`` and ``opportunities``.

    ``text()``, ``to_json()`` and ``draw("svg")`` show them.
    """
    from windrow.groups import Group
    from windrow.groups.report import GroupReport

    return GroupReport.of(Group(tuple(map(_member, files))), {})


def impact(file: Path | str | Compiled, against: Path | str | Compiled, *others: Path | str | Compiled) -> Impact:
    """Who is affected by a change of a file: ``verdict``, ``changes`` and ``effects``, in it and in ``others``."""
    from windrow.groups.impact import impact as find_impact

    new = _member(file)
    # The old version under the name of the new one: jobs are called after their file.
    old = compile(_text(against) if isinstance(against, Path | str) else against.script.source.text, name=new.file)
    return find_impact(_member(old), new, [_member(other) for other in others])


def _member(file: Path | str | Compiled) -> Member:
    from windrow.groups import Member

    compiled = compile(_text(file), name=str(file)) if isinstance(file, Path | str) else file
    return Member.of(compiled.script, compiled.catalog, compiled.plan, compiled.script.source.name)


def _text(file: Path | str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("WR613", f"cannot read {file}: {error}", "give the path of a .sql file, or what windrow.compile gave") from None


def _active_session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def docs(*files: Path | str | Compiled, title: str | None = None, form: str = "markdown") -> str:
    """A page about files, as Markdown or HTML: sources, stages, sinks, lineage, schedules, owners and a runbook."""
    from windrow.groups import Group
    from windrow.groups.blocks import to_html, to_markdown
    from windrow.groups.pages import page_of

    makers = {"markdown": to_markdown, "html": to_html}
    if form not in makers:
        raise UsageError("WR618", f'a page is not written as "{form}"', f"there are: {', '.join(makers)}")
    group = Group(tuple(map(_member, files)))
    return makers[form](page_of(group, title or ", ".join(member.file for member in group.members)))


_STATE = Path(".windrow/notebook")


def _switches(sql: str | Compiled, state: Path | str) -> tuple[Compiled, list[JobSwitch]]:
    from windrow.jobs.switching import switches_in

    compiled = compile(sql) if isinstance(sql, str) else sql
    return compiled, switches_in(compiled, state)


def plan(sql: str | Compiled, *, state: Path | str = _STATE, strategy: str = "cut") -> list[Review]:
    """What changed SQL text, or what ``compile`` gave, would do to the state of its jobs: one review a job. Changes nothing."""
    from windrow.changes import Strategy

    return [switch.review(Strategy.of(strategy)) for switch in _switches(sql, state)[1]]


def rehearse(
    sql: str | Compiled,
    *,
    state: Path | str = _STATE,
    batches: int = 10,
    strategy: str = "cut",
    spark: SparkSession | None = None,
    settings: Mapping[str, str] | None = None,
) -> list[Rehearsal]:
    """Run the old and the new text over the rows of the last batches, with outputs to nowhere: ``same`` and ``differences`` of each job.

    Jobs of which nothing has changed, or whose change cannot be applied, are left out.
    """
    from windrow.changes import Strategy
    from windrow.jobs.rehearsal import rehearse as run_both

    compiled, switches = _switches(sql, state)
    reviewed, how = [(switch, switch.review(Strategy.of(strategy))) for switch in switches], Strategy.of(strategy)
    changed = [switch for switch, review in reviewed if review.changes and review.can_apply and review.batch >= 0]
    return [run_both(one, compiled, batches=batches, strategy=how, spark=spark, settings=settings) for one in changed]


def apply(
    sql: str | Compiled,
    *,
    state: Path | str = _STATE,
    strategy: str = "cut",
    message: str = "",
    watch: float = 60.0,
    spark: SparkSession | None = None,
    settings: Mapping[str, str] | None = None,
) -> list[Review]:
    """Carry the state of jobs over to changed SQL text, and see the new version commit its first batches; gives what was done.

    A job that runs, here or elsewhere, is stopped at the end of a batch. The new version is watched for ``watch`` seconds at most; 0
    leaves that to the next run. Where it fails, the version before comes back.
    """
    from contextlib import ExitStack

    from windrow.changes import Strategy
    from windrow.jobs import RunOptions
    from windrow.jobs.authors import git_commit, user_name
    from windrow.jobs.building import building
    from windrow.jobs.stop_wishes import stop_running
    from windrow.jobs.trial import prove

    how = Strategy.of(strategy)
    compiled, switches = _switches(sql, state)
    reviewed = [(switch, switch.review(how)) for switch in switches]
    changed = [(switch, review) for switch, review in reviewed if review.changes and review.batch >= 0]
    by, commit = user_name(), git_commit(compiled.script.source.name)
    with ExitStack() as stack:
        builders: dict[str, Building] = {}
        if how.builds and all(review.can_apply for _, review in changed):
            for switch, review in changed:
                builders[switch.job.name] = stack.enter_context(building(switch, compiled, spark=spark, settings=settings))
                builders[switch.job.name].build(review)
        for switch in switches if changed and all(review.can_apply for _, review in changed) else ():
            stop_running(switch.folder, by)
        for switch, _ in changed:
            build = builders[switch.job.name].state_at if switch.job.name in builders else None
            switch.apply(message=message, who=by, commit=commit, strategy=how, is_final=not watch, build=build)
    if changed and watch:
        options = RunOptions("continuous", state, settings=settings or {})
        prove([switch for switch, _ in changed], compiled, options, spark=spark, seconds=watch, who=by)
    return [review for _, review in reviewed]


def rollback(sql: str | Compiled, *, to: int | None = None, state: Path | str = _STATE, message: str = "") -> dict[str, int]:
    """Take jobs back to an earlier version, as it stood when the next one took over; gives how many batches of each run again.

    A job that runs is stopped at the end of a batch. ``history`` lists the versions; the one before is taken if none is named.
    """
    from windrow.jobs.authors import user_name
    from windrow.jobs.pending import pending_rollback
    from windrow.jobs.stop_wishes import stop_running
    from windrow.jobs.switching import rollback_target

    switches = _switches(sql, state)[1]
    for switch in switches:
        if pending_rollback(switch.folder) is None:
            rollback_target(switch.folder, switch.job.name, to)
    for switch in switches:
        stop_running(switch.folder, user_name())
    return {switch.job.name: switch.rollback(to, message=message, who=user_name()) for switch in switches}


def history(sql: str | Compiled, *, state: Path | str = _STATE) -> list[dict[str, Any]]:
    """The versions of jobs, oldest first: number, batches, class of change, who, when, commit, message, changes and SQL text."""
    from windrow.jobs.change_records import version_records
    from windrow.jobs.job_versions import versions_of

    found = []
    for switch in _switches(sql, state)[1]:
        texts = {one.number: str(one.card["sql"]) for one in versions_of(switch.folder)}
        found += [{**record, "sql": texts[record["version"]]} for record in version_records(switch)]
    return found


class _Package(ModuleType):
    """This package. The import of ``windrow.sql``, which holds the parser, binds that name here, where it belongs to the function; that of
    ``windrow.lineage`` and ``windrow.plan`` likewise.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _FUNCTIONS or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
