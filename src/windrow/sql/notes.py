"""Annotations as typed values: ``@app`` and its like, and metrics, which start with ``@metric`` and go on with ``@metric_...``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from windrow.errors import Diagnostic
from windrow.model.expr import Expr
from windrow.model.notes import Metric, MetricType, Notes
from windrow.model.statement import Annotation

UNKNOWN, NOT_UNDERSTOOD = "WR270", "WR271"

ABOUT = ("app", "version", "description", "owner")
METRIC = "metric"
_PREFIX = "metric_"
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
# A key that is this much like a known one is taken for a slip of the pen; any other key is the user's own.
_CUTOFF = 0.8

ReadExpr = Callable[[str, int], Expr | Diagnostic]


@dataclass(frozen=True)
class ReadNotes:
    """``places`` says which annotation gave each value of each metric: (number of the metric, key)."""

    notes: Notes
    faults: tuple[Diagnostic, ...]
    places: dict[tuple[int, str], Annotation]


class _BadValueError(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def read_notes(annotations: Sequence[Annotation], read_expr: ReadExpr) -> ReadNotes:
    """Every annotation of a statement. What is not understood is a fault, and is left out."""
    reader = _Reader(read_expr)
    for annotation in annotations:
        reader.take(annotation)
    about: dict[str, Any] = reader.about
    notes = Notes(**about, metrics=tuple(reader.metrics), others=tuple(reader.others))
    return ReadNotes(notes, tuple(reader.faults), reader.places)


@dataclass
class _Reader:
    read_expr: ReadExpr
    about: dict[str, str] = field(default_factory=dict)
    metrics: list[Metric] = field(default_factory=list)
    others: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Diagnostic] = field(default_factory=list)
    places: dict[tuple[int, str], Annotation] = field(default_factory=dict)

    def take(self, note: Annotation) -> None:
        key = note.key.lower()
        if key in ABOUT:
            if key in self.about:
                self._fault(note, NOT_UNDERSTOOD, f"@{key} is given twice", f"keep one @{key}")
            self.about[key] = note.value
        elif key == METRIC:
            self._start(note)
        elif key in METRIC_KEYS:
            self._add(note, key)
        else:
            self._other(note, key)

    def _start(self, note: Annotation) -> None:
        if _NAME.fullmatch(note.value) is None:
            usable = re.sub(r"[^A-Za-z0-9_:]+", "_", note.value).lower().strip("_").lstrip("0123456789_")
            hint = f"-- @metric: {usable or 'orders_total'}"
            self._fault(note, NOT_UNDERSTOOD, f'"{note.value}" cannot be the name of a metric: letters, digits, _ and : only', hint)
        self.metrics.append(Metric(note.value))
        self.places[(len(self.metrics) - 1, METRIC)] = note

    def _add(self, note: Annotation, key: str) -> None:
        number = len(self.metrics) - 1
        if not self.metrics:
            self._fault(note, NOT_UNDERSTOOD, f"@{key} belongs to a metric, and none is named before it", "-- @metric: orders_total")
            return
        if (number, key) in self.places:
            self._fault(note, NOT_UNDERSTOOD, f"@{key} is given twice", f"keep one @{key} for each @metric")
            return
        self.places[(number, key)] = note
        try:
            value: Any = METRIC_KEYS[key](note.value) if key != "metric_condition" else self._condition(note)
        except _BadValueError as error:
            self._fault(note, NOT_UNDERSTOOD, error.message, error.hint)
            return
        if value is not None:
            self.metrics[number] = replace(self.metrics[number], **{key.removeprefix(_PREFIX): value})

    def _condition(self, note: Annotation) -> Expr | None:
        found = self.read_expr(note.value, note.value_span.start if note.value_span is not None else 0)
        if isinstance(found, Diagnostic):
            self.faults.append(replace(found, code=NOT_UNDERSTOOD, message=f"@metric_condition: {found.message}"))
            return None
        return found

    def _other(self, note: Annotation, key: str) -> None:
        known = (*ABOUT, METRIC, *METRIC_KEYS)
        similar = get_close_matches(key, known, 1, 0.0 if key.startswith("metric") else _CUTOFF)
        if similar:
            hint = f"did you mean @{similar[0]}? there are: {', '.join(f'@{each}' for each in known)}"
            self._fault(note, UNKNOWN, f"unknown annotation @{note.key}", hint)
        else:
            self.others.append((note.key, note.value))

    def _fault(self, note: Annotation, code: str, message: str, hint: str) -> None:
        self.faults.append(Diagnostic(code, message, note.value_span if code == NOT_UNDERSTOOD and note.value else note.span, hint))


def _type(value: str) -> MetricType:
    known = [each.value for each in MetricType]
    if value.lower() in known:
        return MetricType(value.lower())
    similar = get_close_matches(value.lower(), known, 1)
    raise _BadValueError(f'"{value}" is no type of metric: it is one of {", ".join(known)}', f"-- @metric_type: {(similar or known)[0]}")


def _names(value: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in value.split(","))
    if not all(names):
        raise _BadValueError("the labels of a metric are columns with commas between", "-- @metric_labels: symbol, venue")
    if len({name.lower() for name in names}) != len(names):
        raise _BadValueError("a label is named twice", f"-- @metric_labels: {', '.join(dict.fromkeys(names))}")
    return names


def _column(value: str) -> str:
    if not value:
        raise _BadValueError("the field of a metric is the name of a column", "-- @metric_field: price")
    return value


def _buckets(value: str) -> tuple[float, ...]:
    hint = "-- @metric_buckets: 0.1, 0.5, 1, 5"
    try:
        bounds = tuple(float(part) for part in value.strip("[]() ").split(","))
    except ValueError:
        raise _BadValueError("the buckets of a histogram are numbers with commas between", hint) from None
    if not all(math.isfinite(bound) for bound in bounds) or any(b <= a for a, b in pairwise(bounds)):
        ordered = ", ".join(f"{bound:g}" for bound in sorted(set(bounds)) if math.isfinite(bound))
        hint = f"-- @metric_buckets: {ordered}" if ordered else hint
        raise _BadValueError("the buckets of a histogram are numbers in rising order", hint)
    return bounds


def _rate(value: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:
        raise _BadValueError(f'"{value}" is no sample rate: it is a number from 0 to 1', "-- @metric_sample_rate: 0.1")
    return rate


METRIC_KEYS: dict[str, Callable[[str], Any]] = {
    "metric_type": _type,
    "metric_help": str,
    "metric_labels": _names,
    "metric_condition": str,
    "metric_field": _column,
    "metric_buckets": _buckets,
    "metric_sample_rate": _rate,
}
