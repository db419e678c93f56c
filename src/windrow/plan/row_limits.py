"""Limits of rows, from the options of a file's statements to the jobs that keep to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from windrow.model.options import Options
from windrow.model.query import Select
from windrow.model.row_limits import DEFAULT_LEAST, LimitedRows, StreamLimits
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTableAs, Script, SelectStatement
from windrow.plan.stages import Job
from windrow.sql.durations import show_duration
from windrow.sql.row_limits import parse_row_limit


def with_limits(jobs: tuple[Job, ...], script: Script, bare: list[str]) -> tuple[Job, ...]:
    """Each job with the limits of its sources and statements; ``bare`` are the names of the bare SELECTs, in order."""
    stated = dict(_stated(script, iter(bare)))
    return tuple(replace(job, limits=tuple(_of(job, stated))) for job in jobs) if stated else jobs


def _of(job: Job, stated: dict[str, StreamLimits]) -> Iterator[StreamLimits]:
    sources = {read.name for read in job.reads}
    for name in dict.fromkeys(stage.name.partition("/")[0] for stage in job.stages):
        if name in stated:
            yield replace(stated[name], is_source=name in sources)


def _stated(script: Script, bare: Iterator[str]) -> Iterator[tuple[str, StreamLimits]]:
    for statement in script.statements:
        match statement:
            case (
                CreateStream(name=name, options=options)
                | CreateStreamAs(name=name, options=options)
                | CreateTableAs(name=name, options=options)
            ):
                pass
            case SelectStatement(query=query):
                name, options = next(bare), query.options if isinstance(query, Select) else Options()
            case _:
                continue
        found = tuple((kind, limit, text) for kind in LimitedRows if (text := options.get(kind.value)) and (limit := parse_row_limit(text)))
        if found:
            yield name, StreamLimits(name, False, found, int(options.get("limits.min.rows") or DEFAULT_LEAST))


def limit_lines(job: Job) -> list[str]:
    """For EXPLAIN."""
    return [f"limit of {one.name}: {_told(kind, text, one.least)}" for one in job.limits for kind, _, text in one.limits]


def _told(kind: LimitedRows, text: str, least: int) -> str:
    limit = parse_row_limit(text)
    assert limit is not None
    among = f" (of at least {least} rows)" if limit.is_share else ""
    where = "a batch" if limit.span is None else f"{show_duration(limit.span)} of the arrival clock"
    amount = f"{limit.most}{'%' if limit.is_share else ''}{among}"
    return f"more than {amount} {kind.words} in {where} stop the job before anything of the batch is written"
