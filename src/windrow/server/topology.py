"""The operators of a job as a graph: what stands in the plan of each, its SQL, and where the rows of the last batches went."""

from __future__ import annotations

from typing import Any

from windrow.compiler import Compiled
from windrow.diagnosis.analysis import Analysis
from windrow.model.statement import SelectStatement
from windrow.plan.explain_facts import facts_of
from windrow.plan.planner import bare_names
from windrow.plan.stages import Job, Stage, Write
from windrow.server.job_views import JobFile, analysis_of, job_file
from windrow.server.service import Service


def topology(service: Service, name: str, newest: int) -> dict[str, Any]:
    return topology_of(job_file(service, name), newest)


def topology_of(file: JobFile, newest: int) -> dict[str, Any]:
    """Nodes in the order in which rows flow, with sums over the newest batches of the last run; None while unknown."""
    begun = {observed.job.name: analysis_of(observed, newest) for observed in file.observed}
    jobs = [_job(file, job, begun.get(job.name)) for job in file.compiled.plan.jobs]
    return {
        "jobs": [told for told, _, _ in jobs],
        "nodes": [node for _, nodes, _ in jobs for node in nodes],
        "edges": [edge for _, _, edges in jobs for edge in edges],
    }


def nodes_of(file: JobFile, newest: int) -> list[dict[str, Any]]:
    """The operators alone."""
    begun = {observed.job.name: analysis_of(observed, newest) for observed in file.observed}
    return [node for job in file.compiled.plan.jobs for node in _job(file, job, begun.get(job.name))[1]]


def _job(file: JobFile, job: Job, analysis: Analysis | None) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    nodes = [_node(stage, job, file.compiled, analysis) for stage in job.stages]
    edges = [
        {"from": source, "to": stage.name, "rows": None if analysis is None else analysis.operators[source].rows_out}
        for stage in job.stages
        for source in stage.inputs
    ]
    return {"job": job.name, **_span(analysis)}, nodes, edges


def _span(analysis: Analysis | None) -> dict[str, Any]:
    if analysis is None:
        return {"batches": 0, "first_batch": None, "last_batch": None, "seconds": 0.0, "span_seconds": 0.0, "rows_in": None}
    return {
        "batches": len(analysis.records),
        "first_batch": analysis.records[0].batch_id,
        "last_batch": analysis.last.batch_id,
        "seconds": analysis.seconds,
        "span_seconds": analysis.span,
        "rows_in": analysis.rows_in,
    }


def _node(stage: Stage, job: Job, compiled: Compiled, analysis: Analysis | None) -> dict[str, Any]:
    facts = facts_of(stage, job)
    told: dict[str, Any] = {
        "name": stage.name,
        "job": job.name,
        "kind": facts.kind,
        "title": facts.title,
        "facts": [list(line) for line in facts.lines],
        **_text_of(stage, compiled),
    }
    if analysis is None:
        return {**told, "rows_in": None, "rows_out": None, "is_cause": False}
    own = analysis.operators[stage.name]
    slow = analysis.bottleneck
    source, statement = analysis.sources.get(stage.name), analysis.statements.get(stage.name)
    return {
        **told,
        "rows_in": own.rows_in,
        "passed": own.passed,
        "filtered": own.filtered,
        "dead": dict(own.dead),
        "dropped": dict(own.dropped),
        "late_corrected": own.late_corrected,
        "rows_out": own.rows_in if isinstance(stage, Write) else own.rows_out,
        "seconds": own.seconds,
        "share": own.share,
        "p95_seconds": own.p95,
        "rows_held": own.rows_held,
        "bytes_held": own.bytes_held,
        "home": own.home,
        "strategies": list(own.strategies),
        "is_source": source is not None,
        "watermark": source.clock.after if source is not None else None if statement is None else statement.last.after,
        "open": None if statement is None else statement.last.open,
        "is_cause": slow is not None and slow.name == stage.name,
    }


def _text_of(stage: Stage, compiled: Compiled) -> dict[str, Any]:
    """The statement that a stage belongs to, as it was written; a stage of a part of one has a name that begins with the statement's."""
    wanted = (stage.input if isinstance(stage, Write) else stage.name).lower().partition("/")[0]
    source, bare = compiled.script.source, iter(bare_names(compiled.script))
    for statement in compiled.script.statements:
        name = next(bare) if isinstance(statement, SelectStatement) else str(getattr(statement, "name", ""))
        if statement.span is not None and name.lower() == wanted:
            return {"sql": source.text[statement.span.start : statement.span.end], "line": source.position(statement.span.start)[0]}
    return {"sql": None, "line": None}
