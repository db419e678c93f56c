"""EXPLAIN MULTI_QUERY, SHARED_RESOURCES and OPTIMIZATION_OPPORTUNITIES: all statements of the file together."""

from __future__ import annotations

from windrow.groups import Group, Member
from windrow.groups.report import GroupReport
from windrow.introspection.answer import Answer
from windrow.introspection.view import View
from windrow.model.statement import Show


def explain_together(statement: Show, view: View) -> Answer:
    name = view.script.source.name
    member = Member.of(view.script, view.catalog, view.plan(), "this file" if name.startswith("<") else name)
    text = GroupReport.of(Group((member,)), {}).text((statement.what.lower(),))
    return Answer(statement, (statement.what.lower(),), tuple((line,) for line in text.splitlines()))
