"""SHOW, DESCRIBE and EXPLAIN: what there is to say about a script, as rows and as text.

Takes a checked script with its catalog; gives answers, each as of the statement that asks. Must not know: Spark, running jobs, the
command line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from windrow.catalog import Relation
from windrow.introspection.answer import Answer
from windrow.introspection.describe import describe
from windrow.introspection.explained import explain_statement
from windrow.introspection.show import show_functions, show_jobs, show_relations
from windrow.introspection.together import explain_together
from windrow.introspection.view import View
from windrow.model.statement import OF_ALL_STATEMENTS, Describe, Explain, Script, Show

__all__ = ["Answer", "answer", "answers"]


def answers(script: Script, extra: Mapping[str, Relation] | None = None) -> tuple[Answer, ...]:
    """The answers to every question of a script, in order."""
    asked = [(count, each) for count, each in enumerate(script.statements) if isinstance(each, Show | Describe | Explain)]
    return tuple(answer(each, script, count, extra) for count, each in asked)


def answer(statement: Show | Describe | Explain, script: Script, position: int, extra: Mapping[str, Relation] | None = None) -> Answer:
    """What a statement that stands at ``position`` is told. It sees what was defined before it, as a script may be long."""
    view = View.of(replace(script, statements=script.statements[:position]), extra)
    whole = View.of(script, extra)
    match statement:
        case Show(what="FUNCTIONS"):
            return show_functions(statement, view)
        case Show(what="JOBS"):
            return show_jobs(statement, whole)
        case Show(what=what) if what in OF_ALL_STATEMENTS:
            return explain_together(statement, whole)
        case Show():
            return show_relations(statement, view)
        case Describe(name=name):
            return describe(statement, view if _is_dropped_later(name, view, whole) else whole)
        case Explain():
            return explain_statement(statement, whole)
        case _:
            assert_never(statement)


def _is_dropped_later(name: str, view: View, whole: View) -> bool:
    before, after = view.catalog.relation(name), whole.catalog.relation(name)
    return before is not None and (after is None or after.defined_by is not before.defined_by)
