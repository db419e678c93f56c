"""What an expression of PromQL is at a time, over the series that are kept: as Prometheus has it, counters that fell included."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

from windrow.observe.promql_text import COMPARISONS, Called, Gathered, Joined, Node, Number, Selector, Steps
from windrow.observe.series import Labels, Series, SeriesStore

Vector = dict[Labels, float]
Points = list[tuple[float, float]]

_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_GATHER: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "max": max,
    "min": min,
    "count": lambda values: float(len(values)),
    "avg": lambda values: math.fsum(values) / len(values),
}


def value_of(node: Node, store: SeriesStore, at: float) -> Vector:
    """The series for which a condition holds, with their values; a plain number is one series without labels."""
    found = _Asking(store, at).value(node)
    return {(): found} if isinstance(found, float) else found


@dataclass(frozen=True)
class _Asking:
    store: SeriesStore
    at: float

    def value(self, node: Node) -> float | Vector:
        match node:
            case Number(value=value):
                return value
            case Selector(within=None):
                found = ((labels, series.last(self.at - node.offset)) for labels, series in self._chosen(node))
                return {labels: value for labels, value in found if value is not None}
            case Gathered():
                return self._gathered(node)
            case Joined():
                return self._joined(node)
            case Called():
                return self._called(node)
            case Selector() | Steps():
                raise _unknown("a range of time by itself")

    def _chosen(self, node: Selector) -> Iterable[tuple[Labels, Series]]:
        for labels, series in self.store.named(node.name):
            own = dict(labels)
            if all(one.admits(own.get(one.label, "")) for one in node.matchers):
                yield labels, series

    def vector(self, node: Node) -> Vector:
        found = self.value(node)
        if isinstance(found, float):
            raise _unknown("a number in the place of series")
        return found

    def _gathered(self, node: Gathered) -> Vector:
        groups: dict[Labels, list[float]] = {}
        for labels, value in self.vector(node.inner).items():
            groups.setdefault(_kept(labels, node.by), []).append(value)
        return {labels: _GATHER[node.how](values) for labels, values in groups.items()}

    # Two sides

    def _joined(self, node: Joined) -> float | Vector:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(left, float) and isinstance(right, float):
            return float(_computed(node.op, left, right))
        if isinstance(left, float) or isinstance(right, float):
            return _with_number(node.op, left, right)
        if node.op == "and":
            there = {_kept(labels, node.on) for labels in right}
            return {labels: value for labels, value in left.items() if _kept(labels, node.on) in there}
        if node.op == "or":
            there = {_kept(labels, node.on) for labels in left}
            return {**left, **{labels: value for labels, value in right.items() if _kept(labels, node.on) not in there}}
        partners = {_kept(labels, node.on): value for labels, value in right.items()}
        found: Vector = {}
        for labels, value in left.items():
            own = _kept(labels, node.on)
            if own not in partners:
                continue
            told = labels if node.many_left or node.on is None else own
            if node.op not in COMPARISONS:
                found[told] = float(_computed(node.op, value, partners[own]))
            elif _computed(node.op, value, partners[own]):
                found[told] = value
        return found

    # Functions

    def _called(self, node: Called) -> float | Vector:
        match node.name, node.arguments:
            case "time", ():
                return self.at
            case "absent", (Selector() as chosen,):
                labels = tuple(sorted((one.label, one.value) for one in chosen.matchers if one.op == "="))
                return {} if self.vector(chosen) else {labels: 1.0}
            case "histogram_quantile", (share, inner):
                return _quantiles(_number(self.value(share)), self.vector(inner))
            case "quantile_over_time", (share, inner):
                wanted = _number(self.value(share))
                return self._over(inner, lambda points: _quantile(wanted, [value for _, value in points]))
            case ("rate" | "increase") as name, (Selector() as inner,):
                begin, end = self._bounds(inner.within or 0.0, inner.offset)
                return self._over(inner, lambda points: _grown(points, begin, end, is_rate=name == "rate"))
            case "changes", (inner,):
                return self._over(inner, _changes)
            case "deriv", (inner,):
                return self._over(inner, _slope)
        raise _unknown(node.name)

    def _bounds(self, within: float, offset: float) -> tuple[float, float]:
        return self.at - offset - within, self.at - offset

    def _over(self, node: Node, how: Callable[[Points], float | None]) -> Vector:
        found = {labels: how(points) for labels, points in self._ranges(node)}
        return {labels: value for labels, value in found.items() if value is not None}

    def _ranges(self, node: Node) -> Iterable[tuple[Labels, Points]]:
        if isinstance(node, Selector) and node.within is not None:
            begin, end = self._bounds(node.within, node.offset)
            for labels, series in self._chosen(node):
                if points := series.between(begin, end):
                    yield labels, points
            return
        if not isinstance(node, Steps):
            raise _unknown("a function over no range of time")
        begin, end = self._bounds(node.within, node.offset)
        found: dict[Labels, Points] = {}
        # At whole multiples of the step, whatever the time is.
        for number in range(math.floor(begin / node.step) + 1, math.floor(end / node.step) + 1):
            for labels, value in _Asking(self.store, number * node.step).vector(node.inner).items():
                found.setdefault(labels, []).append((number * node.step, value))
        yield from found.items()


def _unknown(what: str) -> ValueError:
    return ValueError(f"a rule has {what}, which is not known here")


def _number(value: float | Vector) -> float:
    if isinstance(value, float):
        return value
    raise _unknown("series in the place of a number")


def _kept(labels: Labels, names: tuple[str, ...] | None) -> Labels:
    return labels if names is None else tuple(one for one in labels if one[0] in names)


def _computed(op: str, left: float, right: float) -> float | bool:
    """Of floating point numbers: what is divided by nothing is endless, not an error."""
    if op in _COMPARE:
        return _COMPARE[op](left, right)
    if op == "/":
        return left / right if right else math.nan if not left or math.isnan(left) else math.copysign(math.inf, left)
    if op == "%":
        return math.fmod(left, right) if right else math.nan
    return {"+": left + right, "-": left - right, "*": left * right}[op]


def _with_number(op: str, left: float | Vector, right: float | Vector) -> Vector:
    """Series on one side; a comparison keeps those for which it holds."""
    series = left if isinstance(left, dict) else right
    assert isinstance(series, dict)
    found: Vector = {}
    for labels, value in series.items():
        told = _computed(op, value if isinstance(left, dict) else left, value if isinstance(right, dict) else right)
        if op not in COMPARISONS:
            found[labels] = float(told)
        elif told:
            found[labels] = value
    return found


def _grown(points: Points, begin: float, end: float, *, is_rate: bool) -> float | None:
    """How much a counter grew, as if it had been looked at from ``begin`` to ``end``. One that fell began again at 0."""
    if len(points) < 2:
        return None
    grown = points[-1][1] - points[0][1]
    grown += math.fsum(before[1] for before, after in pairwise(points) if after[1] < before[1])
    span = points[-1][0] - points[0][0]
    pace = span / (len(points) - 1)
    before, after = points[0][0] - begin, end - points[-1][0]
    if grown > 0 and points[0][1] >= 0:
        # It cannot have been less than 0 before the first point.
        before = min(before, span * (points[0][1] / grown))
    reached = span + (before if before < 1.1 * pace else pace / 2) + (after if after < 1.1 * pace else pace / 2)
    grown *= reached / span
    return grown / (end - begin) if is_rate else grown


def _changes(points: Points) -> float:
    return float(sum(before[1] != after[1] for before, after in pairwise(points)))


def _slope(points: Points) -> float | None:
    """Of the straight line that fits best."""
    if len(points) < 2:
        return None
    first = points[0][0]
    times, values = [at - first for at, _ in points], [value for _, value in points]
    n, total = len(points), math.fsum(times)
    spread = math.fsum(at * at for at in times) - total * total / n
    return (math.fsum(at * value for at, value in zip(times, values, strict=True)) - total * math.fsum(values) / n) / spread


def _quantile(share: float, values: list[float]) -> float | None:
    """Between two values by how near each is."""
    if not values:
        return None
    ordered = sorted(values)
    rank = share * (len(ordered) - 1)
    low = max(0, math.floor(rank))
    high = min(len(ordered) - 1, low + 1)
    return ordered[low] * (1 - (rank - math.floor(rank))) + ordered[high] * (rank - math.floor(rank))


def _quantiles(share: float, buckets: Vector) -> Vector:
    groups: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in buckets.items():
        rest, bound = tuple(one for one in labels if one[0] != "le"), dict(labels).get("le")
        if bound is not None:
            groups.setdefault(rest, []).append((float(bound), count))
    return {labels: _in_buckets(share, sorted(found)) for labels, found in groups.items()}


def _in_buckets(share: float, buckets: list[tuple[float, float]]) -> float:
    """Of counts up to each bound; within a bucket its values are taken as evenly spread."""
    if len(buckets) < 2 or not math.isinf(buckets[-1][0]) or not buckets[-1][1]:
        return math.nan
    # Buckets are read one after the other: a count may be less than the one before it.
    buckets = list(zip((bound for bound, _ in buckets), accumulate((count for _, count in buckets), max), strict=True))
    rank = share * buckets[-1][1]
    place = next(n for n, (_, count) in enumerate(buckets) if count >= rank)
    if place == len(buckets) - 1:
        return buckets[-2][0]
    bound, count = buckets[place]
    if place == 0 and bound <= 0:
        return bound
    start, before = buckets[place - 1] if place else (0.0, 0.0)
    return start + (bound - start) * ((rank - before) / (count - before)) if count > before else start
