"""SHOW STREAMS, TABLES, FUNCTIONS and JOBS."""

from __future__ import annotations

import re

from windrow.catalog import Relation
from windrow.catalog.functions import usable_functions
from windrow.catalog.lifetimes import names_read
from windrow.introspection.answer import Answer
from windrow.introspection.view import View
from windrow.model.query import Query
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable, CreateTableAs, Show
from windrow.plan.stages import Read, Write


def show_relations(statement: Show, view: View) -> Answer:
    kind = "stream" if statement.what == "STREAMS" else "table"
    found = [each for each in view.catalog.relations.values() if each.kind == kind and _is_like(each.name, statement.like)]
    rows = tuple((each.name, _columns(each), origin(each, view)) for each in found)
    return Answer(statement, ("name", "columns", "from"), rows, "" if rows else f"no {kind}s")


def _columns(relation: Relation) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in relation.columns)


def origin(relation: Relation, view: View) -> str:
    """Where the rows of a relation come from, in a few words."""
    match relation.defined_by:
        case CreateStream(name=name, options=options) | CreateTable(name=name, options=options):
            is_filled = name.lower() in view.catalog.targets
            connector = options.get("connector")
            if is_filled:
                return "INSERT INTO" + (f", to {connector}" if connector else "")
            return str(connector)
        case CreateStreamAs(query=query, options=options) | CreateTableAs(query=query, options=options):
            sink = options.get("connector")
            return f"a query over {_read_by(query, view)}" + (f", to {sink}" if sink else "")
        case None:
            return "rows handed in"
        case _:
            return "late rows"


def _read_by(query: Query, view: View) -> str:
    known = (view.catalog.relation(name) for name in sorted(names_read(query)))
    return ", ".join(relation.name for relation in known if relation is not None) or "nothing"


def show_functions(statement: Show, view: View) -> Answer:
    every = {**usable_functions(), **view.catalog.own_functions}
    found = [each for name, each in sorted(every.items()) if _is_like(name, statement.like)]
    rows = tuple((each.signature, each.kind.value, _first_line(each.doc)) for each in found)
    return Answer(statement, ("function", "kind", "gives"), rows, "" if rows else "no function of such a name")


def _first_line(doc: str) -> str:
    return next((line.strip() for line in doc.splitlines() if line.strip()), "")


def show_jobs(statement: Show, view: View) -> Answer:
    rows = tuple(
        (
            job.name,
            ", ".join(stage.name for stage in job.stages if isinstance(stage, Read)),
            ", ".join(f"{stage.input} to {stage.connector}" for stage in job.stages if isinstance(stage, Write)) or "nowhere",
            job.reason,
        )
        for job in view.plan().jobs
        if _is_like(job.name, statement.like)
    )
    return Answer(statement, ("job", "reads", "writes", "because"), rows, "" if rows else "no jobs")


def _is_like(name: str, pattern: str | None) -> bool:
    """Whether a name fits a LIKE pattern, in any case of letters.

    >>> _is_like("to_date", "TO%"), _is_like("to_date", "to"), _is_like("a", None)
    (True, False, True)
    """
    if pattern is None:
        return True
    wild = "".join(".*" if char == "%" else "." if char == "_" else re.escape(char) for char in pattern)
    return re.fullmatch(wild, name, re.IGNORECASE) is not None
