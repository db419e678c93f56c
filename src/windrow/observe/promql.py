"""Conditions of alerts as PromQL: a small part of the dialect, whose columns are metrics.

What it has: numbers, metrics by name, ``RATE``, ``INCREASE`` and ``QUANTILE``, arithmetic, comparisons, ``AND`` and ``OR``.
Everything is one number a job: series of a counter are added up, of a gauge the greatest counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from windrow.model.expr import Binary, Call, Column, Expr, Literal, Unary
from windrow.model.notes import MetricType
from windrow.model.place import Span
from windrow.observe.instruments import INSTRUMENTS, JOB, Kind

_RANGE = re.compile(r"[1-9]\d*(s|m|h|d)")
_DEFAULT_RANGE = "5m"
_ARITHMETIC = {"+": "+", "-": "-", "*": "*", "/": "/", "%": "%"}
_COMPARISONS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_LOGIC = {"AND": "and", "OR": "or"}
_WORDS = {Kind.COUNTER: MetricType.COUNTER, Kind.GAUGE: MetricType.GAUGE, Kind.HISTOGRAM: MetricType.HISTOGRAM}


class NoPromQLError(Exception):
    """Something that a condition of an alert cannot have, with what to write instead."""

    def __init__(self, message: str, hint: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.span = span


@dataclass(frozen=True)
class Known:
    """The metrics that a condition may name: those of every job, and ``own`` of the file, by what annotations call them."""

    own: Mapping[str, MetricType]

    def find(self, column: Column) -> tuple[str, MetricType]:
        """What Prometheus calls a metric, and its type."""
        name = column.name
        for one, kind in self.own.items():
            exposed = f"{one}_total" if kind is MetricType.COUNTER and not one.endswith("_total") else one
            if name.lower() in (one.lower(), exposed.lower()):
                return exposed, kind
        for instrument in INSTRUMENTS.values():
            if name.lower() == instrument.full_name:
                return instrument.full_name, _WORDS[instrument.kind]
        for base, part in ((name.removesuffix(suffix), suffix) for suffix in ("_count", "_sum") if name.endswith(suffix)):
            exposed, kind = self.find(Column(base, span=column.span))
            if kind in (MetricType.HISTOGRAM, MetricType.SUMMARY):
                return exposed + part, MetricType.COUNTER
        known = ", ".join(self.own) or "none of its own"
        raise NoPromQLError(f'no metric "{name}"', f"this file has {known}; docs/metrics.md lists those of every job", column.span)


def promql(condition: Expr, known: Known, matcher: str = "") -> str:
    """The condition for the series that ``matcher`` selects.

    >>> own = Known({"orders": MetricType.COUNTER})
    >>> promql(Binary(">", Call("RATE", (Column("orders"),)), Literal(5)), own)
    'sum by (job_name) (rate(orders_total[5m])) > 5'
    """
    if not _is_claim(condition):
        raise NoPromQLError("the condition of an alert is true or false", "RATE(orders_total) > 5", getattr(condition, "span", None))
    return _Writer(known, matcher).write(condition)


def _is_claim(node: Expr) -> bool:
    if not isinstance(node, Binary):
        return False
    return node.op in _COMPARISONS or (node.op in _LOGIC and _is_claim(node.left) and _is_claim(node.right))


@dataclass(frozen=True)
class _Writer:
    known: Known
    matcher: str

    def write(self, node: Expr) -> str:
        match node:
            case Literal(value=value) if isinstance(value, int | float) and not isinstance(value, bool):
                return f"{value}"
            case Literal(value=value) if value is not None and not isinstance(value, str | bool):
                return str(value)
            case Unary(op="-", operand=inner):
                return f"-{self._inner(inner)}"
            case Binary(op=op, left=left, right=right) if op in _LOGIC:
                return f"{self._inner(left)} {_LOGIC[op]} {self._inner(right)}"
            case Binary(op=op, left=left, right=right) if op in _COMPARISONS:
                self._need_numbers(left, right, node.span)
                return f"{self._inner(left)} {_COMPARISONS[op]} {self._inner(right)}"
            case Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                return f"{self._inner(left)} {_ARITHMETIC[op]} {self._inner(right)}"
            case Column(qualifier=None):
                return self._now(node)
            case Call():
                return self._call(node)
            case _:
                hint = "numbers, metrics, RATE, INCREASE, QUANTILE, + - * / %, comparisons, AND, OR"
                raise NoPromQLError("this cannot be part of an alert's condition", hint, getattr(node, "span", None))

    def _inner(self, node: Expr) -> str:
        text = self.write(node)
        return f"({text})" if isinstance(node, Binary) else text

    def _need_numbers(self, left: Expr, right: Expr, span: Span | None) -> None:
        if isinstance(left, Literal) and isinstance(right, Literal):
            raise NoPromQLError("this comparison names no metric", "RATE(orders_total) > 5", span)
        if any(_is_claim(side) for side in (left, right)):
            raise NoPromQLError("a truth value cannot be compared", "write AND or OR between two comparisons", span)

    def _now(self, column: Column) -> str:
        name, kind = self.known.find(column)
        if kind in (MetricType.HISTOGRAM, MetricType.SUMMARY):
            hint = f"QUANTILE({column.name}, 0.95), or {column.name}_count and {column.name}_sum"
            raise NoPromQLError(f"{column.name} is a {kind.value}, which is more than one number", hint, column.span)
        how = "sum" if kind is MetricType.COUNTER else "max"
        return f"{how} by ({JOB}) ({name}{self._braced})"

    def _call(self, call: Call) -> str:
        name, metric, *rest = call.name.upper(), *call.args, None, None, None
        if name not in ("RATE", "INCREASE", "QUANTILE"):
            raise NoPromQLError(f"{call.name} cannot be part of an alert's condition", "there are RATE, INCREASE and QUANTILE", call.span)
        if not isinstance(metric, Column):
            raise NoPromQLError(f"{name} is asked of a metric", f"{name}(orders_total, '5m')", call.span)
        exposed, kind = self.known.find(metric)
        if name == "QUANTILE":
            return self._quantile(call, exposed, kind, rest[0], rest[1])
        if kind is not MetricType.COUNTER:
            raise NoPromQLError(f"{name} is asked of a counter, and {metric.name} is a {kind.value}", metric.name, call.span)
        return f"sum by ({JOB}) ({name.lower()}({exposed}{self._braced}[{self._range(rest[0], call)}]))"

    def _quantile(self, call: Call, name: str, kind: MetricType, share: Expr | None, within: Expr | None) -> str:
        if kind is not MetricType.HISTOGRAM:
            raise NoPromQLError(f"QUANTILE is asked of a histogram, and {name} is a {kind.value}", "QUANTILE(latency, 0.95)", call.span)
        value = share.value if isinstance(share, Literal) else None
        number = float(str(value)) if value is not None and not isinstance(value, str | bool) else -1.0
        if not 0 <= number <= 1:
            raise NoPromQLError("the share of QUANTILE is a number from 0 to 1", "QUANTILE(latency, 0.95)", call.span)
        rate = f"rate({name}_bucket{self._braced}[{self._range(within, call)}])"
        return f"histogram_quantile({number:g}, sum by ({JOB}, le) ({rate}))"

    def _range(self, given: Expr | None, call: Call) -> str:
        if given is None:
            return _DEFAULT_RANGE
        if isinstance(given, Literal) and isinstance(given.value, str) and _RANGE.fullmatch(given.value):
            return given.value
        raise NoPromQLError("a range of time is a text such as '5m'", f"{call.name.upper()}(orders_total, '5m')", call.span)

    @property
    def _braced(self) -> str:
        return f"{{{self.matcher}}}" if self.matcher else ""
