"""What the annotations of a statement say, as typed values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.model.expr import Expr


class MetricType(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    SUMMARY = "summary"


@dataclass(frozen=True)
class Metric:
    """A number about the rows that a statement puts out.

    ``field`` is the column that is measured (a counter without one counts rows), ``labels`` the columns that tell series apart,
    ``condition`` which rows count; ``sample_rate`` of them are looked at.
    """

    name: str
    type: MetricType = MetricType.COUNTER
    help: str = ""
    labels: tuple[str, ...] = ()
    condition: Expr | None = None
    field: str | None = None
    buckets: tuple[float, ...] = ()
    sample_rate: float = 1.0


@dataclass(frozen=True)
class Notes:
    """``others`` are annotations that mean nothing to Windrow: (key, value)."""

    app: str | None = None
    version: str | None = None
    description: str | None = None
    owner: str | None = None
    metrics: tuple[Metric, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
