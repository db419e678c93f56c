"""EXPLAIN IMPACT: what a statement in the place of the one that the file has would do to the others."""

from __future__ import annotations

from dataclasses import replace

from windrow.catalog import build_catalog
from windrow.check import check
from windrow.errors import Diagnostic
from windrow.groups import Member
from windrow.groups.impact import impact
from windrow.introspection.view import View
from windrow.model.statement import Describe, Drop, Explain, InsertInto, Script, Show, Statement
from windrow.plan import plan_script


def impact_of(inner: Statement, view: View) -> str:
    statements = tuple(each for each in view.statements if not isinstance(each, Explain | Show | Describe | Drop))
    before = replace(view.script, statements=statements)
    after, broken = _that_work(replace(before, statements=_with(inner, statements)), inner, view)
    file = view.script.source.name
    file = "this file" if file.startswith("<") else file
    found = impact(_member(before, view, file), _member(after, view, file), broken=broken)
    return found.text("itself as it stands")


def _with(inner: Statement, statements: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """An INSERT is one more; anything else takes the place of what has its name."""
    name = str(getattr(inner, "name", "")).lower()
    place = next((i for i, each in enumerate(statements) if name and str(getattr(each, "name", "")).lower() == name), None)
    if place is None or isinstance(inner, InsertInto):
        return (*statements, inner)
    return (*statements[:place], inner, *statements[place + 1 :])


def _that_work(script: Script, inner: Statement, view: View) -> tuple[Script, dict[str, str]]:
    """The statements that can still be made, and why the others cannot."""
    broken: dict[str, str] = {}
    while faults := [one for one in check(script, build_catalog(script, view.extra)) if not one.is_warning]:
        wrong = [each for each in script.statements if each is not inner and any(_is_in(fault, each) for fault in faults)]
        if not wrong:
            # A fault without a place of its own: of every other statement it cannot be proved that it still works.
            wrong = [each for each in script.statements if each is not inner]
        for each in wrong:
            fault = next((one for one in faults if _is_in(one, each)), faults[0])
            broken.setdefault(str(getattr(each, "name", "out")), f"can no longer be made: [{fault.code}] {fault.message}")
        script = replace(script, statements=tuple(each for each in script.statements if all(each is not one for one in wrong)))
        if script.statements == (inner,):
            break
    return script, broken


def _is_in(fault: Diagnostic, statement: Statement) -> bool:
    return fault.span is not None and statement.span is not None and statement.span.start <= fault.span.start < statement.span.end


def _member(script: Script, view: View, file: str) -> Member:
    catalog = build_catalog(script, view.extra)
    return Member.of(script, catalog, plan_script(script, catalog), file)
