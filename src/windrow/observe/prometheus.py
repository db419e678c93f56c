"""The status of jobs as Prometheus and OpenMetrics read it: one collector, asked at each scrape; nothing is kept between two.

``prometheus_client`` is imported here only, and only by who serves metrics: the command line must answer without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from windrow.model.notes import MetricType
from windrow.observe.distribution import Distribution
from windrow.observe.instruments import INSTRUMENTS, JOB, Instrument, Kind
from windrow.observe.row_metrics import exposed_name, points_of
from windrow.observe.samples import Sample, samples_of
from windrow.observe.series import Labels
from windrow.observe.status import JobStatus

Statuses = Callable[[], Sequence[JobStatus]]


class JobCollector(Collector):
    def __init__(self, statuses: Statuses) -> None:
        self._statuses = statuses

    def describe(self) -> Iterable[Metric]:
        """Asked when the collector is registered, so that nothing is measured then."""
        return [_family(instrument) for instrument in INSTRUMENTS.values()]

    def collect(self) -> Iterator[Metric]:
        statuses = self._statuses()
        order = {name: place for place, name in enumerate(INSTRUMENTS)}
        found = [sample for status in statuses for sample in samples_of(status)]
        found.sort(key=lambda sample: order[sample.instrument.name])
        for instrument, samples in groupby(found, key=lambda sample: sample.instrument):
            yield _filled(_family(instrument), samples)
        yield from _row_metrics(statuses)


def _family(instrument: Instrument) -> Metric:
    name, labels = instrument.full_name, instrument.all_labels
    match instrument.kind:
        case Kind.COUNTER:
            return CounterMetricFamily(name, instrument.help, labels=labels)
        case Kind.GAUGE:
            return GaugeMetricFamily(name, instrument.help, labels=labels)
        case Kind.HISTOGRAM:
            return HistogramMetricFamily(name, instrument.help, labels=labels)


def _filled(family: Metric, samples: Iterable[Sample]) -> Metric:
    for sample in samples:
        if isinstance(sample.value, Distribution):
            assert isinstance(family, HistogramMetricFamily)
            family.add_metric(sample.labels, sample.value.cumulative, sample.value.total)
        else:
            assert isinstance(family, CounterMetricFamily | GaugeMetricFamily)
            family.add_metric(sample.labels, sample.value)
    return family


def _row_metrics(statuses: Sequence[JobStatus]) -> Iterator[Metric]:
    """Those that annotations define: jobs of one file that have the same one share its name and its text."""
    families: dict[str, Metric] = {}
    for status in statuses:
        for name, total in status.metrics.items():
            exposed = exposed_name(name, total.type)
            text = status.metric_help.get(name) or f"Of the rows of a statement, by the annotation @metric: {name}."
            # The base of a counter's name has no _total.
            family = families.setdefault(
                name, Metric(exposed.removesuffix("_total") if total.type is MetricType.COUNTER else exposed, text, total.type.value)
            )
            suffix = "_total" if total.type is MetricType.COUNTER else ""
            for point in points_of(total):
                family.add_sample(f"{family.name}{suffix or point.suffix}", {JOB: status.job, **point.labels}, point.value)
    yield from families.values()


def series_of(statuses: Sequence[JobStatus], wanted: Mapping[str, float]) -> Iterator[tuple[str, Labels, float]]:
    """What a scrape would find of the names that are wanted, without its text."""
    for family in JobCollector(lambda: statuses).collect():
        for sample in family.samples:
            if sample.name in wanted:
                yield sample.name, tuple(sorted(sample.labels.items())), float(sample.value)


def registry_of(statuses: Statuses) -> CollectorRegistry:
    """The jobs and the process that runs them."""
    registry = CollectorRegistry()
    registry.register(JobCollector(statuses))
    ProcessCollector(registry=registry)
    return registry


def exposition(registry: CollectorRegistry, accept: str) -> tuple[str, bytes]:
    """Content type and text, in the form that the scraper asks for."""
    encode, content_type = choose_encoder(accept)
    return content_type, encode(registry)
