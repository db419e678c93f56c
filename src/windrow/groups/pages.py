"""A page about several files: sources, stages, sinks, lineage, schedules, owners, and what to do when something is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from windrow.graphs import draw_fields
from windrow.groups.blocks import Block, Heading, Picture, Table, Text
from windrow.groups.member import Access, Member, is_statement
from windrow.groups.report import GroupReport, picture
from windrow.lineage import ROWS, ColumnRef, Dataset, EdgeKind
from windrow.observe.rules import standing
from windrow.plan.explain_facts import facts_of
from windrow.plan.explain_json import stage_to_json
from windrow.plan.explain_metrics import show_alert, show_metric
from windrow.plan.stages import Aggregate, Job, LoadTable, Read, Stage, Write
from windrow.sql.durations import show_duration

if TYPE_CHECKING:
    from windrow.groups.group import Group

_ABOUT = ("app", "version", "owner", "description")
_SCHEDULES = ("schedule", "cron", "sla")
_RUNBOOKS = ("runbook", "runbook_url")
# Facts that stand in a table of their own, or that only matter to who reads EXPLAIN.
_LEFT_OUT = {"why", "columns", "shares", "options"}


def page_of(group: Group, title: str) -> list[Block]:
    report = GroupReport.of(group, {})
    return [Heading(1, title), *_overview(group, report), *(block for member in group.members for block in _file(member)), *_runbook(group)]


def _overview(group: Group, report: GroupReport) -> Iterator[Block]:
    rows = [(member.file, *(member.about(what) or "" for what in _ABOUT)) for member in group.members]
    yield Table(("file", *_ABOUT), tuple(rows))
    if any(access for member in group.members for access in (*member.reads, *member.writes)):
        graph = picture(group)
        yield Picture(draw_fields(graph, "svg"), draw_fields(graph, "mermaid"))
    links = tuple((str(writer), str(writer.place), str(reader)) for writer, reader in group.links())
    if links:
        yield Heading(2, "Between the files")
        yield Table(("writes", "to", "read by"), links)
    if conflicts := group.conflicts():
        yield Heading(2, "Conflicts")
        yield Table(("kind", "what", "what to do"), tuple((one.kind.replace("_", " "), one.text, one.hint) for one in conflicts))
    if report.shared:
        yield Heading(2, "Computed once")
        yield Table(
            ("what", "for", "how"),
            tuple((f"{one.kind} {one.name} of {one.file}", ", ".join(one.users), one.words) for one in report.shared),
        )


def _file(member: Member) -> Iterator[Block]:
    yield Heading(2, member.file)
    if text := member.about("description"):
        yield Text(text)
    if member.reads:
        yield Heading(3, "Sources")
        yield Table(("name", "from", "columns", "event time and watermark"), tuple(_source(access, member) for access in member.reads))
    own_sources = [
        stage for job in member.plan.jobs for stage in job.reads if stage.name not in {access.statement for access in member.reads}
    ]
    if own_sources:
        yield Text("Rows that nobody else has: " + ", ".join(f"{read.name} ({read.connector})" for read in own_sources) + ".")
    yield Heading(3, "Stages")
    for job in member.plan.jobs:
        for stage in job.stages:
            if is_statement(stage):
                yield from _stage(stage, job, member)
    if member.writes:
        yield Heading(3, "Sinks")
        yield Table(("statement", "to", "columns", "key"), tuple(_sink(access, member) for access in member.writes))
    yield Heading(3, "Lineage")
    yield Table(("column", "made of", "as", "rows decided by"), tuple(_lineage(member)))
    yield Heading(3, "Schedules")
    yield Table(("what", "when"), tuple(_schedules(member)))
    measured = [(show_metric(metric), name) for name, metric in member.metrics]
    if measured:
        yield Heading(3, "Metrics")
        yield Table(("metric", "of"), tuple(measured))
    if member.alerts:
        yield Heading(3, "Alerts")
        yield Table(("alert", "what to do"), tuple((show_alert(alert), member.other_note(*_RUNBOOKS) or "") for alert in member.alerts))


def _source(access: Access, member: Member) -> tuple[str, ...]:
    read = _read(access.statement, member)
    columns = ", ".join(f"{column.name} {column.type}" for column in access.columns) or "not stated"
    if access.is_table:
        return access.statement, str(access.place), columns, "a table: its latest rows"
    time = "when it arrives" if read is None or read.time.column is None else read.time.column
    delay = "" if read is None else f", watermark {show_duration(read.clock.delay)} behind"
    idle = "" if read is None or read.clock.idle_timeout is None else f", idle after {show_duration(read.clock.idle_timeout)}"
    return access.statement, str(access.place), columns, f"{time}{delay}{idle}"


def _read(name: str, member: Member) -> Read | None:
    return next((read for job in member.plan.jobs for read in job.reads if read.name == name), None)


def _stage(stage: Stage, job: Job, member: Member) -> Iterator[Block]:
    yield Heading(4, stage.name)
    notes = member.notes_of(stage.name)
    about = [f"Owner: {notes.owner}."] if notes.owner else []
    about += [notes.description] if notes.description else []
    if about:
        yield Text(" ".join(about))
    rows: list[tuple[str, str]] = []
    for part in (each for each in job.stages if each.name == stage.name or each.name.startswith(f"{stage.name}/")):
        facts = facts_of(part, job)
        rows.append(("does", facts.kind + (f" ({part.name.partition('/')[2]})" if "/" in part.name else "")))
        rows += [(label, text) for label, text in facts.lines if label not in _LEFT_OUT]
    rows.append(("reads", ", ".join(dict.fromkeys(name.partition("/")[0] for name in _inputs(stage, job)))))
    yield Table(("", ""), tuple(rows))


def _inputs(stage: Stage, job: Job) -> Iterator[str]:
    """What a statement reads, through its own parts."""
    for name in stage.inputs:
        if name.startswith(f"{stage.name}/"):
            yield from (each for each in _inputs(job.stage(name), job))
        else:
            yield name


def _sink(access: Access, member: Member) -> tuple[str, ...]:
    columns = ", ".join(member.lineage.columns.get(Dataset(member.file, access.statement), ()))
    writes = (stage for job in member.plan.jobs for stage in job.stages if isinstance(stage, Write) and stage.input == access.statement)
    row_key = next((", ".join(write.key) for write in writes), "")
    told = next((stage_to_json(each) for job in member.plan.jobs for each in job.stages if each.name == access.statement), {})
    key = row_key or told.get("key")
    return access.statement, str(access.place), columns, str(key or "none")


def _lineage(member: Member) -> Iterator[tuple[str, ...]]:
    lineage = member.lineage
    for name in member.statement_names():
        dataset = Dataset(member.file, name)
        deciding = [str(e.input) for e in lineage.edges if e.output == ColumnRef(dataset, ROWS) and not e.input.dataset.is_outside]
        for number, column in enumerate(lineage.columns.get(dataset, ())):
            edges = [edge for edge in lineage.edges if edge.output == ColumnRef(dataset, column) and not edge.input.dataset.is_outside]
            made = ", ".join(
                f"{edge.input}" + ("" if edge.kind is EdgeKind.ROWS else f" ({edge.kind.value.replace('_', ' ')})") for edge in edges
            )
            text = next((edge.expr for edge in edges if edge.expr), "")
            yield f"{name}.{column}", made or "no column", text, ", ".join(deciding) if number == 0 else ""


def _schedules(member: Member) -> Iterator[tuple[str, str]]:
    for job in member.plan.jobs:
        yield f"job {job.name}", "batch after batch" + (", also without new rows: time must go on" if job.needs_ticks else "")
        for stage in job.stages:
            if isinstance(stage, LoadTable):
                every = (
                    "when the job starts"
                    if stage.refresh is None
                    else f"when the job starts, and what has changed every {show_duration(stage.refresh)}"
                )
                yield f"table {stage.name}", f"loaded {every}"
            if isinstance(stage, Aggregate):
                emits = dict(facts_of(stage, job).lines).get("emits")
                if emits:
                    yield f"emissions of {stage.name}", emits
    stated = member.other_note(*_SCHEDULES)
    if stated:
        yield "as its annotations say", stated


def _runbook(group: Group) -> Iterator[Block]:
    yield Heading(2, "Runbook")
    noted = [(member.file, note) for member in group.members if (note := member.other_note(*_RUNBOOKS))]
    if noted:
        yield Table(("file", "runbook"), tuple(noted))
    rows = [
        (member.file, f"windrow run {member.file}", f"windrow why lag {member.file}", f"windrow dead-letters {member.file}")
        for member in group.members
    ]
    yield Table(("file", "start, or go on", "where the time goes", "rows that were set aside"), tuple(rows))
    yield Text("Alerts of every job, as `windrow ops rules FILE` writes them for Prometheus:")
    yield Table(
        ("alert", "level", "says", "what to do"),
        tuple((rule.name, rule.level, _plain(rule.summary), rule.what_to_do) for rule in standing()),
    )


def _plain(text: str) -> str:
    """
    >>> _plain("table {{ $labels.table }} of job {{ $labels.job_name }}")
    'table TABLE of job JOB_NAME'
    """
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: found[1].upper(), text)
