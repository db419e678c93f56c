"""Metrics that annotations define, as totals over all rows that were ever put out: part of the state of a job.

A batch gives what it adds, series by series. It is added when the batch commits, so a total is exact after any crash.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from windrow.model.notes import Metric, MetricType

# Series of one metric. What comes beyond them is one more series, so that nothing is lost of the sum.
MOST_SERIES = 1000
_MOST_LABEL = 200
OVERFLOW = "overflow"

Labels = tuple[str, ...]
# A counter and a gauge have a value; a histogram and a summary a sum and a count, and a histogram then how many are at most each bound.
Values = tuple[float, ...]


@dataclass(frozen=True)
class MetricTotal:
    type: MetricType
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    series: Mapping[Labels, Values] = field(default_factory=dict)
    overflow: Values | None = None

    @staticmethod
    def empty(metric: Metric) -> MetricTotal:
        return MetricTotal(metric.type, metric.labels, metric.bounds)

    def fits(self, metric: Metric) -> bool:
        return (self.type, self.labels, self.bounds) == (metric.type, metric.labels, metric.bounds)

    def plus(self, found: Mapping[Labels, Values]) -> MetricTotal:
        """With what a batch adds. Which series are new ones of their own does not depend on the order in which rows were counted."""
        series, overflow = dict(self.series), self.overflow
        for labels, values in sorted(found.items()):
            if labels in series or len(series) < MOST_SERIES:
                series[labels] = self._sum(series.get(labels), values)
            else:
                overflow = self._sum(overflow, values)
        return replace(self, series=series, overflow=overflow)

    def _sum(self, held: Values | None, more: Values) -> Values:
        if held is None or self.type is MetricType.GAUGE:
            return more
        return tuple(own + other for own, other in zip(held, more, strict=True))

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type.value,
            "labels": list(self.labels),
            "bounds": list(self.bounds),
            "series": [[list(labels), list(values)] for labels, values in self.series.items()],
            "overflow": None if self.overflow is None else list(self.overflow),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> MetricTotal:
        series = {tuple(labels): tuple(values) for labels, values in data["series"]}
        overflow = None if data["overflow"] is None else tuple(data["overflow"])
        return MetricTotal(MetricType(data["type"]), tuple(data["labels"]), tuple(data["bounds"]), series, overflow)


Totals = Mapping[str, MetricTotal]


def begun(metrics: Sequence[tuple[str, Metric]], held: Totals) -> dict[str, MetricTotal]:
    """The total of every metric of a job, where it was left. One that now has another type, labels or buckets begins anew."""
    found = {}
    for _, metric in metrics:
        known = held.get(metric.name)
        found[metric.name] = known if known is not None and known.fits(metric) else MetricTotal.empty(metric)
    return found


def totals_json(totals: Totals) -> dict[str, Any]:
    return {name: total.to_json() for name, total in totals.items()}


def totals_from(data: Mapping[str, Any]) -> dict[str, MetricTotal]:
    return {name: MetricTotal.from_json(told) for name, told in data.items()}


def label_text(value: Any) -> str:
    """A value as a label. NULL is the empty text, which Prometheus takes for a label that is not there.

    >>> [label_text(value) for value in (None, True, 3, "a")]
    ['', 'true', '3', 'a']
    """
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else value.isoformat() if hasattr(value, "isoformat") else str(value)
    return text[:_MOST_LABEL]


def exposed_name(name: str, kind: MetricType) -> str:
    """What Prometheus calls a metric: a counter ends in _total.

    >>> exposed_name("orders", MetricType.COUNTER), exposed_name("price", MetricType.GAUGE)
    ('orders_total', 'price')
    """
    return f"{name}_total" if kind is MetricType.COUNTER and not name.endswith("_total") else name


@dataclass(frozen=True)
class Point:
    """One number of a series: what is put after the name, and its labels."""

    suffix: str
    labels: Mapping[str, str]
    value: float


def points_of(total: MetricTotal) -> Iterator[Point]:
    for labels, values in _labelled(total):
        yield from _points(total, labels, values)


def series_json(total: MetricTotal, labels: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Every series as programs read it: a number, or a sum and a count, with how many are at most each bound. ``labels`` go before its own.

    >>> found = MetricTotal(MetricType.HISTOGRAM, ("side",), (1.0,), {("buy",): (7.5, 3.0, 2.0)})
    >>> list(series_json(found, {"job_name": "a"}))
    [{'labels': {'job_name': 'a', 'side': 'buy'}, 'value': {'count': 3.0, 'sum': 7.5, 'buckets': {'1.0': 2.0, '+Inf': 3.0}}}]
    """
    for own, values in _labelled(total):
        value: Any = values[0]
        if total.type not in (MetricType.COUNTER, MetricType.GAUGE):
            buckets = {point.labels["le"]: point.value for point in _points(total, own, values) if point.suffix == "_bucket"}
            value = {"count": values[1], "sum": values[0], **({"buckets": buckets} if buckets else {})}
        yield {"labels": {**labels, **own}, "value": value}


def _labelled(total: MetricTotal) -> Iterator[tuple[dict[str, str], Values]]:
    for labels, values in total.series.items():
        yield dict(zip(total.labels, labels, strict=True)), values
    if total.overflow is not None:
        yield {OVERFLOW: "true"}, total.overflow


def _points(metric: MetricTotal, labels: Mapping[str, str], values: Values) -> Iterator[Point]:
    if metric.type in (MetricType.COUNTER, MetricType.GAUGE):
        yield Point("", labels, values[0])
        return
    total, count, *within = values
    if metric.type is MetricType.HISTOGRAM:
        for bound, below in zip(metric.bounds, within, strict=True):
            yield Point("_bucket", {**labels, "le": str(bound)}, below)
        yield Point("_bucket", {**labels, "le": "+Inf"}, count)
    yield Point("_sum", labels, total)
    yield Point("_count", labels, count)
