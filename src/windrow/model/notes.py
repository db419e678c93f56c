"""What the annotations of a statement say, as typed values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.model.expr import Expr

DEFAULT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)


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

    @property
    def bounds(self) -> tuple[float, ...]:
        """The buckets of a histogram; those that Prometheus takes by itself where none are named."""
        return (self.buckets or DEFAULT_BUCKETS) if self.type is MetricType.HISTOGRAM else ()


@dataclass(frozen=True)
class Alert:
    """What somebody is to be told: a condition over metrics, which has held for ``hold`` microseconds."""

    name: str
    condition: Expr | None = None
    hold: int = 0
    level: str = "warning"
    text: str = ""


@dataclass(frozen=True)
class LetterRule:
    """What becomes of dead letters of one stream: the first rule that admits a letter decides.

    ``codes`` are those of the letters that are meant, none of them means all; ``condition`` is asked of the row and of its text, ``_raw``.
    ``repair`` is text such as ``SET price = ABS(price)``: rows return to the job, each up to ``replays`` times.
    """

    name: str
    codes: tuple[str, ...] = ()
    condition: Expr | None = None
    label: str = ""
    hold: bool = False
    repair: str | None = None
    replays: int = 1
    notify: str | None = None


@dataclass(frozen=True)
class Notes:
    """``others`` are annotations that mean nothing to Windrow: (key, value)."""

    app: str | None = None
    version: str | None = None
    description: str | None = None
    owner: str | None = None
    metrics: tuple[Metric, ...] = ()
    alerts: tuple[Alert, ...] = ()
    letter_rules: tuple[LetterRule, ...] = ()
    others: tuple[tuple[str, str], ...] = ()
