"""WR271, WR272: rules over dead letters, which stand with the stream whose rows they are about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windrow.catalog.typing import output_columns
from windrow.check.blocks import Context, constraints_of, query_of
from windrow.check.row_expressions import row_expression
from windrow.errors import Diagnostic, SqlError
from windrow.model.fate import Fate
from windrow.model.notes import LetterRule
from windrow.model.place import Span
from windrow.model.statement import CreateStream, CreateStreamAs, InsertInto, Statement
from windrow.model.types import STRING, ColumnDef
from windrow.sql import notes_of, parse_assignments
from windrow.sql.notes import ReadNotes

RAW = ColumnDef("_raw", STRING)
_KEY = "quarantine"
# What their sources set aside, before any statement has seen them; and what constraints do.
_RETURNING = {fate.code for fate in (Fate.UNDECODABLE, Fate.BAD_FIELD, Fate.NO_EVENT_TIME, Fate.FUTURE, Fate.VIOLATION)}


def letter_rule(context: Context) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for statement in context.script.statements:
        found = notes_of(statement)
        for number, rule in enumerate(found.notes.letter_rules):
            place = _Place(found, number, rule)
            if rule.name.lower() in seen:
                message = f"two rules over dead letters are called {rule.name}"
                yield Diagnostic("WR271", message, place.span(_KEY), f"-- @quarantine: {rule.name}_2")
            seen.add(rule.name.lower())
            columns = _judged_columns(statement, context)
            if columns is None:
                message = "a rule over dead letters stands with the stream that sets rows aside, and this one sets none aside"
                hint = "put it before the CREATE STREAM of a source, or of a query with constraints"
                yield Diagnostic("WR271", message, place.span(_KEY), hint)
                continue
            yield from place.judge_actions(is_source=isinstance(statement, CreateStream))
            yield from place.judge_expressions(columns, context)


def _judged_columns(statement: Statement, context: Context) -> tuple[ColumnDef, ...] | None:
    """The columns of the rows that a stream may set aside; None where it sets none aside that a rule could be about."""
    if isinstance(statement, CreateStream):
        fed = {each.name.lower() for each in context.script.statements if isinstance(each, InsertInto)}
        return None if statement.name.lower() in fed else statement.columns
    if isinstance(statement, CreateStreamAs) and constraints_of(statement):
        query = query_of(statement)
        return None if query is None else output_columns(query, context.catalog) or ()
    return None


@dataclass(frozen=True)
class _Place:
    found: ReadNotes
    number: int
    rule: LetterRule

    def span(self, key: str) -> Span | None:
        note = self.found.places.get((self.number, key)) or self.found.places[(self.number, _KEY)]
        return note.value_span if note.value else note.span

    def _is_given(self, key: str) -> bool:
        return (self.number, key) in self.found.places

    def judge_actions(self, *, is_source: bool) -> Iterator[Diagnostic]:
        rule = self.rule
        if not any(map(self._is_given, ("quarantine_label", "quarantine_hold", "quarantine_repair", "quarantine_notify"))):
            hint = "-- @quarantine_label: decimal comma; or @quarantine_hold, @quarantine_repair, @quarantine_notify"
            yield Diagnostic("WR271", f"the rule {rule.name} does nothing with the letters that it is about", self.span(_KEY), hint)
        if rule.hold and rule.repair is not None:
            message = f"the rule {rule.name} holds letters for review and repairs them by itself"
            yield Diagnostic("WR271", message, self.span("quarantine_hold"), "keep one of them")
        if self._is_given("quarantine_replays") and not self._is_given("quarantine_repair"):
            message = f"the rule {rule.name} replays letters as they are, and they would be set aside again"
            hint = "-- @quarantine_repair: SET price = ABS(price)"
            yield Diagnostic("WR271", message, self.span("quarantine_replays"), hint)
        if rule.repair is not None and (stuck := [code for code in rule.codes if code not in _RETURNING]):
            message = f"letters of {', '.join(stuck)} cannot return: the statement that set them aside would do so again"
            hint = f"-- @quarantine_code: {Fate.BAD_FIELD.code}; a longer ALLOWED_LATENESS takes late rows"
            yield Diagnostic("WR271", message, self.span("quarantine_code"), hint)
        if not is_source and (other := [code for code in rule.codes if code != Fate.VIOLATION.code]):
            message = f"this query sets aside what violates its constraints, {Fate.VIOLATION.code}, and not {', '.join(other)}"
            yield Diagnostic("WR271", message, self.span("quarantine_code"), "put the rule before the CREATE STREAM of the source")

    def judge_expressions(self, columns: tuple[ColumnDef, ...], context: Context) -> Iterator[Diagnostic]:
        seen = (*columns, RAW)
        if self.rule.condition is not None:
            yield from row_expression(self.rule.condition, seen, context, "@quarantine_condition", "the condition of a rule")
        if self.rule.repair is None:
            return
        at = self.span("quarantine_repair")
        try:
            assignments = parse_assignments(self.rule.repair, "a repair")
        except SqlError as error:
            for each in error.diagnostics:
                yield replace(each, code="WR271", message=f"@quarantine_repair: {each.message}", span=at)
            return
        known = {column.name.lower() for column in columns}
        for name, expr in assignments:
            if name.lower() not in known:
                names = ", ".join(column.name for column in columns)
                yield Diagnostic("WR272", f'unknown column "{name}" in @quarantine_repair', at, f"the stream has: {names}")
            for fault in row_expression(expr, seen, context, "@quarantine_repair", "a repair", is_condition=False):
                yield replace(fault, span=at)
