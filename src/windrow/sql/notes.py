"""Annotations as typed values: ``@app`` and its like, metrics, which start with ``@metric`` and go on with ``@metric_...``,
alerts, and rules over dead letters, which start with ``@quarantine``."""

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
from windrow.model.fate import FATE_CODES
from windrow.model.notes import Alert, LetterRule, Metric, MetricType, Notes
from windrow.model.statement import Annotation
from windrow.sql.durations import UNITS, micros_of

UNKNOWN, NOT_UNDERSTOOD = "WR270", "WR271"

ABOUT = ("app", "version", "description", "owner")
METRIC, ALERT, QUARANTINE = "metric", "alert", "quarantine"
LEVELS = ("info", "warning", "critical")
EVENT_LEVELS = ("info", "warning", "error")
_NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
# A key that is this much like a known one is taken for a slip of the pen; any other key is the user's own.
_CUTOFF = 0.8

ReadExpr = Callable[[str, int], Expr | Diagnostic]


@dataclass(frozen=True)
class ReadNotes:
    """``places`` says which annotation gave each value of each metric, alert and rule: (its number, key)."""

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
    notes = Notes(
        **about, metrics=tuple(reader.metrics), alerts=tuple(reader.alerts), letter_rules=tuple(reader.rules), others=tuple(reader.others)
    )
    return ReadNotes(notes, tuple(reader.faults), reader.places)


@dataclass
class _Reader:
    read_expr: ReadExpr
    about: dict[str, str] = field(default_factory=dict)
    metrics: list[Metric] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    rules: list[LetterRule] = field(default_factory=list)
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
        elif key == ALERT:
            self._start_alert(note)
        elif key == QUARANTINE:
            self._start_rule(note)
        elif key in METRIC_KEYS:
            self._add(note, key, METRIC_KEYS, METRIC, self.metrics, "orders_total")
        elif key in ALERT_KEYS:
            self._add(note, key, ALERT_KEYS, ALERT, self.alerts, "TooManyOrders")
        elif key in QUARANTINE_KEYS:
            self._add(note, key, QUARANTINE_KEYS, QUARANTINE, self.rules, "wrong_decimals")
        else:
            self._other(note, key)

    def _start(self, note: Annotation) -> None:
        if _NAME.fullmatch(note.value) is None:
            usable = re.sub(r"[^A-Za-z0-9_:]+", "_", note.value).lower().strip("_").lstrip("0123456789_")
            hint = f"-- @metric: {usable or 'orders_total'}"
            self._fault(note, NOT_UNDERSTOOD, f'"{note.value}" cannot be the name of a metric: letters, digits, _ and : only', hint)
        self.metrics.append(Metric(note.value))
        self.places[(len(self.metrics) - 1, METRIC)] = note

    def _start_alert(self, note: Annotation) -> None:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", note.value) is None:
            usable = "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", note.value)).lstrip("0123456789")
            message = f'"{note.value}" cannot be the name of an alert: letters, digits and _ only'
            self._fault(note, NOT_UNDERSTOOD, message, f"-- @alert: {usable or 'TooManyOrders'}")
        self.alerts.append(Alert(note.value))
        self.places[(len(self.alerts) - 1, ALERT)] = note

    def _start_rule(self, note: Annotation) -> None:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", note.value) is None:
            usable = re.sub(r"[^A-Za-z0-9_]+", "_", note.value).lower().strip("_").lstrip("0123456789_")
            message = f'"{note.value}" cannot be the name of a rule over dead letters: letters, digits and _ only'
            self._fault(note, NOT_UNDERSTOOD, message, f"-- @quarantine: {usable or 'wrong_decimals'}")
        self.rules.append(LetterRule(note.value))
        self.places[(len(self.rules) - 1, QUARANTINE)] = note

    def _add(self, note: Annotation, key: str, keys: dict[str, Callable[[str], Any]], of: str, known: list[Any], example: str) -> None:
        """A part of the metric, the alert or the rule before it."""
        value = self._value(note, key, keys[key], of, len(known) - 1, example)
        if value is not None:
            name = _FIELDS.get(key, key.removeprefix(f"{of}_"))
            known[-1] = replace(known[-1], **{name: value})

    def _value(self, note: Annotation, key: str, read: Callable[[str], Any], of: str, number: int, example: str) -> Any:
        """What belongs to the metric or alert before it; None where it is a fault."""
        if number < 0:
            self._fault(note, NOT_UNDERSTOOD, f"@{key} belongs to {_ARTICLES[of]}, and none is named before it", f"-- @{of}: {example}")
            return None
        if (number, key) in self.places:
            self._fault(note, NOT_UNDERSTOOD, f"@{key} is given twice", f"keep one @{key} for each @{of}")
            return None
        self.places[(number, key)] = note
        try:
            return self._condition(note, key) if key.endswith("_condition") else read(note.value)
        except _BadValueError as error:
            self._fault(note, NOT_UNDERSTOOD, error.message, error.hint)
            return None

    def _condition(self, note: Annotation, key: str) -> Expr | None:
        found = self.read_expr(note.value, note.value_span.start if note.value_span is not None else 0)
        if isinstance(found, Diagnostic):
            self.faults.append(replace(found, code=NOT_UNDERSTOOD, message=f"@{key}: {found.message}"))
            return None
        return found

    def _other(self, note: Annotation, key: str) -> None:
        known = (*ABOUT, METRIC, *METRIC_KEYS, ALERT, *ALERT_KEYS, QUARANTINE, *QUARANTINE_KEYS)
        is_meant = key.startswith(("metric_", "alert_", "quarantine_"))
        similar = get_close_matches(key, known, 1, 0.0 if is_meant else _CUTOFF)
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


def _level(value: str) -> str:
    if value.lower() in LEVELS:
        return value.lower()
    similar = get_close_matches(value.lower(), LEVELS, 1)
    message = f'"{value}" is no level of an alert: it is one of {", ".join(LEVELS)}'
    raise _BadValueError(message, f"-- @alert_level: {(similar or LEVELS)[0]}")


def _hold(value: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([A-Za-z]+)", value.strip())
    micros = micros_of(found[1], found[2]) if found is not None and found[2].lower() in UNITS else None
    if micros is None or micros % 1_000_000:
        raise _BadValueError(f'"{value}" is no length of whole seconds', "-- @alert_for: 5m")
    return micros


def _codes(value: str) -> tuple[str, ...]:
    codes = tuple(code.strip().upper() for code in value.split(","))
    known = sorted(code for code, _ in FATE_CODES.values() if code)
    for code in codes:
        if code not in known:
            close = (get_close_matches(code, known, 1) or known)[0]
            message = f'"{code}" is no code of a dead letter: they are {", ".join(known)}'
            raise _BadValueError(message, f"-- @quarantine_code: {close}")
    return tuple(dict.fromkeys(codes))


def _yes(value: str) -> bool:
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _BadValueError(f'"{value}" is neither true nor false', "-- @quarantine_hold: true")


def _text(value: str) -> str:
    if not value:
        raise _BadValueError("a label is a text", "-- @quarantine_label: decimal comma")
    return value


def _times(value: str) -> int:
    if value.isdecimal() and 1 <= int(value) <= MOST_REPLAYS:
        return int(value)
    message = f'"{value}" is no number of replays: a letter is replayed 1 to {MOST_REPLAYS} times by itself'
    raise _BadValueError(message, "-- @quarantine_replays: 3")


def _notify(value: str) -> str:
    if value.lower() in EVENT_LEVELS:
        return value.lower()
    similar = get_close_matches(value.lower(), EVENT_LEVELS, 1)
    message = f'"{value}" is no level of an event: it is one of {", ".join(EVENT_LEVELS)}'
    raise _BadValueError(message, f"-- @quarantine_notify: {(similar or EVENT_LEVELS[1:])[0]}")


MOST_REPLAYS = 100
_ARTICLES = {METRIC: "a metric", ALERT: "an alert", QUARANTINE: "a rule over dead letters"}
# Where the annotation and the field have different names.
_FIELDS = {"alert_for": "hold", "quarantine_code": "codes"}
QUARANTINE_KEYS: dict[str, Callable[[str], Any]] = {
    "quarantine_code": _codes,
    "quarantine_condition": str,
    "quarantine_label": _text,
    "quarantine_hold": _yes,
    "quarantine_repair": str,
    "quarantine_replays": _times,
    "quarantine_notify": _notify,
}
ALERT_KEYS: dict[str, Callable[[str], Any]] = {
    "alert_condition": str,
    "alert_for": _hold,
    "alert_level": _level,
    "alert_text": str,
}
METRIC_KEYS: dict[str, Callable[[str], Any]] = {
    "metric_type": _type,
    "metric_help": str,
    "metric_labels": _names,
    "metric_condition": str,
    "metric_field": _column,
    "metric_buckets": _buckets,
    "metric_sample_rate": _rate,
}
