"""DESCRIBE: a stream or table with its columns, its time, its options, and who reads it."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog import Relation, keys
from windrow.catalog.lifetimes import readers_of, writers_of
from windrow.introspection.answer import Answer
from windrow.introspection.show import origin
from windrow.introspection.view import View
from windrow.model.statement import CreateStream, CreateTable, CreateTableAs, Describe
from windrow.plan.expectations import before_expectations
from windrow.plan.explain_facts import facts_of
from windrow.plan.explain_metrics import show_alert, show_metric
from windrow.plan.sources import plan_source, plan_table
from windrow.plan.stages import Job

# Told by the list of columns, or of no use without the rest of the plan.
_LEFT_OUT = {"columns", "why", "key"}


def describe(statement: Describe, view: View) -> Answer:
    relation = view.catalog.relation(statement.name)
    assert relation is not None, "DESCRIBE of an unknown name passed the checks"
    key = {name.lower() for name in _key(relation, view)}
    rows = tuple((c.name, str(c.type), _remark(c.nullable, c.name.lower() in key)) for c in relation.columns)
    title = f"{relation.kind} {relation.name}, from {origin(relation, view)}"
    return Answer(statement, ("column", "type", ""), rows, title, tuple(_facts(relation, view)))


def _remark(nullable: bool, is_key: bool) -> str:
    return ", ".join([*(["key"] if is_key else []), *([] if nullable else ["not null"])])


def _key(relation: Relation, view: View) -> tuple[str, ...]:
    match relation.defined_by:
        case CreateTable(primary_key=key):
            return key
        case CreateTableAs(query=query):
            return keys.table_key(query, view.catalog) or ()
        case _:
            return ()


def _facts(relation: Relation, view: View) -> Iterator[tuple[str, str]]:
    definition = relation.defined_by
    if definition is not None:
        yield from ((f"@{note.key}", note.value) for note in definition.annotations if not note.key.lower().startswith(("metric", "alert")))
        yield from (("metric", show_metric(metric)) for metric in definition.notes.metrics)
        yield from (("alert", show_alert(alert)) for alert in definition.notes.alerts)
    yield from ((label, text) for label, text in _stage_facts(relation, view) if label not in _LEFT_OUT)
    writers = writers_of(relation.name, view.statements)
    if writers:
        yield "written by", ", ".join(writers)
    yield "read by", ", ".join(readers_of(relation.name, view.statements)) or "nobody in this file"


def _stage_facts(relation: Relation, view: View) -> tuple[tuple[str, str], ...]:
    """What EXPLAIN says of the stage that gives the relation's rows."""
    definition = relation.defined_by
    nothing = Job("", ())
    is_filled = relation.name.lower() in view.catalog.targets
    if isinstance(definition, CreateStream) and not is_filled:
        return facts_of(plan_source(definition), nothing).lines
    if isinstance(definition, CreateTable):
        return facts_of(plan_table(definition), nothing).lines
    # Rows that are judged by constraints come out of a stage of their own.
    names = (before_expectations(relation.name), relation.name)
    found = ((stage, job) for name in names for job in view.plan().jobs for stage in job.stages if stage.name == name)
    return tuple(dict.fromkeys(line for stage, job in found for line in facts_of(stage, job).lines))
