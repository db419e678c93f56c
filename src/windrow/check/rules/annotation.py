"""WR270, WR271, WR272: annotations that Windrow knows, with values that make sense and columns that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from windrow.catalog.typing import output_columns
from windrow.check.agreement import family
from windrow.check.blocks import Context, query_of
from windrow.check.row_expressions import row_expression
from windrow.check.suggestions import column_hint
from windrow.errors import Diagnostic
from windrow.model.notes import Metric, MetricType
from windrow.model.place import Span
from windrow.model.statement import Annotation, CreateStream, CreateTable, InsertInto, Statement
from windrow.model.types import ColumnDef
from windrow.observe.promql import Known, NoPromQLError, promql
from windrow.sql import notes_of
from windrow.sql.notes import ReadNotes

# Labels that Prometheus or we give a meaning of their own.
_TAKEN = {"job", "instance", "job_name", "le", "quantile", "overflow"}
_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LABELLING = ("number", "text", "boolean", "time", "any")


def annotation(context: Context) -> Iterator[Diagnostic]:
    first: dict[str, Metric] = {}
    known = Known({metric.name: metric.type for each in context.script.statements for metric in each.notes.metrics})
    alerts: set[str] = set()
    for statement in context.script.statements:
        found = notes_of(statement)
        yield from found.faults
        yield from _judge_alerts(found, known, alerts)
        for number, metric in enumerate(found.notes.metrics):
            place = _Place(found, number, metric, _columns(statement, context))
            yield from place.judge(context)
            other = first.setdefault(metric.name, metric)
            if (other.type, other.labels, other.bounds) != (metric.type, metric.labels, metric.bounds):
                message = f"the metric {metric.name} has another type, other labels or other buckets elsewhere in this file"
                yield Diagnostic("WR271", message, place.span("metric"), f"-- @metric: {metric.name}_2")


def _judge_alerts(found: ReadNotes, known: Known, seen: set[str]) -> Iterator[Diagnostic]:
    for number, alert in enumerate(found.notes.alerts):
        note = found.places[(number, "alert")]
        if alert.name in seen:
            yield Diagnostic("WR289", f"the alert {alert.name} is there twice", note.value_span, f"-- @alert: {alert.name}2")
        seen.add(alert.name)
        given = found.places.get((number, "alert_condition"))
        if given is None:
            hint = "-- @alert_condition: RATE(orders_total, '5m') > 5"
            yield Diagnostic("WR289", f"the alert {alert.name} has no condition", note.value_span, hint)
        elif alert.condition is not None:
            try:
                promql(alert.condition, known)
            except NoPromQLError as error:
                yield Diagnostic("WR289", error.message, error.span or given.value_span, error.hint)


def _columns(statement: Statement, context: Context) -> tuple[ColumnDef, ...] | None:
    """The columns of the rows that a metric is about; None where there are no rows."""
    if isinstance(statement, CreateTable):
        return None
    if isinstance(statement, CreateStream):
        fed = {each.name.lower() for each in context.script.statements if isinstance(each, InsertInto)}
        return statement.columns if statement.name.lower() in fed else None
    query = query_of(statement)
    return None if query is None else output_columns(query, context.catalog) or ()


@dataclass(frozen=True)
class _Place:
    found: ReadNotes
    number: int
    metric: Metric
    columns: tuple[ColumnDef, ...] | None

    def note(self, key: str) -> Annotation:
        return self.found.places.get((self.number, key)) or self.found.places[(self.number, "metric")]

    def span(self, key: str) -> Span | None:
        note = self.note(key)
        return note.value_span if note.value else note.span

    def judge(self, context: Context) -> Iterator[Diagnostic]:
        if self.columns is None:
            message = "a metric is about the rows that a statement puts out, and this one puts out none"
            hint = (
                "put it before a SELECT, a CREATE STREAM ... AS SELECT or an INSERT; rows of sources are counted by windrow_rows_in_total"
            )
            yield Diagnostic("WR271", message, self.note("metric").span, hint)
            return
        yield from self._judge_name()
        yield from self._judge_shape()
        if self.columns:
            yield from self._judge_columns()
            yield from self._judge_condition(context)

    def _judge_shape(self) -> Iterator[Diagnostic]:
        kind = self.metric.type
        if kind is not MetricType.COUNTER and self.metric.field is None and (self.number, "metric_field") not in self.found.places:
            message = f"a {kind.value} measures a column, and none is named"
            yield Diagnostic("WR271", message, self.span("metric"), "-- @metric_field: price")
        if self.metric.buckets and kind is not MetricType.HISTOGRAM:
            message = f"only a histogram has buckets, and {self.metric.name} is a {kind.value}"
            yield Diagnostic("WR271", message, self.span("metric_buckets"), "-- @metric_type: histogram")

    def _judge_name(self) -> Iterator[Diagnostic]:
        name = self.metric.name
        if name.startswith("windrow_"):
            message = "names that begin with windrow_ are those of the metrics that every job has"
            yield Diagnostic("WR288", message, self.span("metric"), f"-- @metric: {name.removeprefix('windrow_') or 'orders_total'}")
        for label in self.metric.labels:
            if _LABEL.fullmatch(label) is None or label.lower() in _TAKEN or label.startswith("__"):
                message = f'"{label}" cannot be a label: letters, digits and _ only, and none of {", ".join(sorted(_TAKEN))}'
                hint = f"give the column another name: {label} AS {re.sub('[^A-Za-z0-9]+', '_', label).strip('_').lower() or 'label'}_label"
                yield Diagnostic("WR288", message, self.span("metric_labels"), hint)

    def _judge_columns(self) -> Iterator[Diagnostic]:
        field = self.metric.field
        if field is not None:
            column = self._column(field)
            if column is None:
                yield self._missing(field, "metric_field")
            elif family(column.type) not in ("number", "any"):
                message = f"the field of a metric is a number, and {field} is {column.type}"
                yield Diagnostic("WR272", message, self.span("metric_field"), f"select a number: CAST({field} AS DOUBLE) AS {field}_number")
        for label in self.metric.labels:
            column = self._column(label)
            if column is None:
                yield self._missing(label, "metric_labels")
            elif family(column.type) not in _LABELLING:
                message = f"a label is a text, a number, a truth value or a time, and {label} is {column.type}"
                yield Diagnostic("WR272", message, self.span("metric_labels"), f"select a part of it, or CAST({label} AS STRING)")

    def _judge_condition(self, context: Context) -> Iterator[Diagnostic]:
        condition = self.metric.condition
        if condition is None:
            return
        yield from row_expression(condition, self.columns or (), context, "@metric_condition", "the condition of a metric")

    def _column(self, name: str) -> ColumnDef | None:
        return next((column for column in self.columns or () if column.name.lower() == name.lower()), None)

    def _missing(self, name: str, key: str) -> Diagnostic:
        names = [column.name for column in self.columns or ()]
        return Diagnostic("WR272", f'unknown column "{name}" in @{key}', self.span(key), column_hint(name, [("the statement", names)]))
