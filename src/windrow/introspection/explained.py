"""EXPLAIN: how one statement would run, in the file it stands in."""

from __future__ import annotations

import json
from dataclasses import replace

from windrow.catalog import build_catalog
from windrow.diagnosis.topology import topology_json, topology_of
from windrow.graphs import draw
from windrow.introspection.answer import Answer
from windrow.introspection.impacts import impact_of
from windrow.introspection.view import View
from windrow.lineage import lineage_of
from windrow.lineage.report import lineage_to_text
from windrow.model.statement import CreateStream, CreateTable, Explain, ExplainOptions, InsertInto, SelectStatement, Statement
from windrow.plan import bare_names, plan_part
from windrow.plan.explain import explain
from windrow.plan.explain_facts import facts_of
from windrow.plan.sources import plan_source, plan_table
from windrow.plan.stages import Job, Plan


def explain_statement(statement: Explain, view: View) -> Answer:
    inner = statement.statement
    if statement.aspect == "LINEAGE":
        text = lineage_to_text(lineage_of(_plan_of(inner, view), ""))
        return Answer(statement, ("lineage",), tuple((line,) for line in text.splitlines()))
    if statement.aspect == "IMPACT":
        return Answer(statement, ("impact",), tuple((line,) for line in impact_of(inner, view).splitlines()))
    is_plain = not statement.options.topology and statement.options.format == "TEXT"
    if is_plain and isinstance(inner, CreateStream | CreateTable):
        text = _source_text(inner)
    else:
        text = _query_text(inner, view, statement.options)
    return Answer(statement, ("plan",), tuple((line,) for line in text.splitlines()))


def _source_text(source: CreateStream | CreateTable) -> str:
    facts = facts_of(plan_source(source) if isinstance(source, CreateStream) else plan_table(source), Job("", ()))
    width = max(len(label) for label, _ in facts.lines)
    return "\n".join([f"{facts.kind} {facts.title}", *(f"   {label.ljust(width)}  {text}" for label, text in facts.lines)])


def _query_text(inner: Statement, view: View, how: ExplainOptions) -> str:
    plan = _plan_of(inner, view)
    form = how.format.lower()
    if how.topology:
        drawn = [topology_of(job) for job in plan.jobs]
        return (
            json.dumps([topology_json(one) for one in drawn], indent=2) if form == "json" else "\n\n".join(draw(one, form) for one in drawn)
        )
    return explain(plan, "json" if form == "json" else "mermaid" if form == "mermaid" else "text")


def _plan_of(inner: Statement, view: View) -> Plan:
    """What runs for one statement, with everything it reads."""
    if isinstance(inner, CreateStream):
        return Plan((Job("", (plan_source(inner),)),))
    if isinstance(inner, CreateTable):
        return Plan((Job("", (plan_table(inner),)),))
    name = getattr(inner, "name", "").lower()
    is_replaced = not isinstance(inner, InsertInto)
    others = [each for each in view.statements if not isinstance(each, SelectStatement)]
    others = [each for each in others if not (is_replaced and getattr(each, "name", "").lower() == name)]
    script = replace(view.script, statements=(*others, inner))
    catalog = build_catalog(script, view.extra)
    output = bare_names(script)[-1] if isinstance(inner, SelectStatement) else name
    return plan_part(script, catalog, output)
