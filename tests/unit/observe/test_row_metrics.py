"""Metrics of annotations: totals that add up, are saved, and stay within their series."""

from __future__ import annotations

import json

from tests.unit.serving.statuses import status
from windrow.model.notes import Metric, MetricType
from windrow.observe.prometheus import exposition, registry_of
from windrow.observe.row_metrics import MOST_SERIES, Labels, MetricTotal, Values, begun, totals_from, totals_json

COUNTER = Metric("orders", labels=("symbol",), help="orders seen")
HISTOGRAM = Metric("price", MetricType.HISTOGRAM, buckets=(1.0, 10.0), field="price")
GAUGE = Metric("newest", MetricType.GAUGE, field="price")


def test_batches_add_up_and_a_gauge_is_the_newest() -> None:
    counter = MetricTotal.empty(COUNTER).plus({("A",): (2.0,)}).plus({("A",): (3.0,), ("B",): (1.0,)})
    assert counter.series == {("A",): (5.0,), ("B",): (1.0,)}
    gauge = MetricTotal.empty(GAUGE).plus({(): (2.0,)}).plus({(): (1.0,)})
    assert gauge.series == {(): (1.0,)}


def test_series_beyond_the_cap_are_one_and_nothing_of_the_sum_is_lost() -> None:
    first: dict[Labels, Values] = {(f"{number:05}",): (1.0,) for number in range(MOST_SERIES - 1)}
    total = (
        MetricTotal.empty(COUNTER).plus(first).plus({("x",): (1.0,), ("y",): (4.0,), ("z",): (5.0,)}).plus({("x",): (1.0,), ("q",): (2.0,)})
    )
    assert len(total.series) == MOST_SERIES
    assert total.series[("x",)] == (2.0,)
    assert total.overflow == (11.0,)


def test_totals_are_saved_and_go_on() -> None:
    totals = {"price": MetricTotal.empty(HISTOGRAM).plus({(): (12.5, 2.0, 1.0, 2.0)})}
    again = totals_from(json.loads(json.dumps(totals_json(totals))))
    assert begun([("out", HISTOGRAM)], again) == totals


def test_a_metric_of_another_shape_begins_anew_and_one_that_is_gone_goes() -> None:
    held = {"orders": MetricTotal.empty(COUNTER).plus({("A",): (2.0,)}), "old": MetricTotal.empty(GAUGE)}
    other = Metric("orders", labels=("venue",))
    assert begun([("out", other)], held) == {"orders": MetricTotal.empty(other)}
    assert begun([("out", COUNTER)], held)["orders"].series == {("A",): (2.0,)}


def test_prometheus_gets_them_with_their_names_and_labels() -> None:
    many: dict[Labels, Values] = {(str(number),): (1.0,) for number in range(MOST_SERIES + 2)}
    metrics = {
        "orders": MetricTotal.empty(COUNTER).plus(many),
        "price": MetricTotal.empty(HISTOGRAM).plus({(): (12.5, 2.0, 1.0, 2.0)}),
        "newest": MetricTotal.empty(GAUGE).plus({(): (3.0,)}),
    }
    told = [status(metrics=metrics, metric_help={"orders": "orders seen"}), status(metrics={"newest": metrics["newest"]})]
    for accept in ("", "application/openmetrics-text"):
        text = exposition(registry_of(lambda: told), accept)[1].decode()
        assert 'orders_total{job_name="shop",symbol="0"} 1.0' in text
        assert 'orders_total{job_name="shop",overflow="true"} 2.0' in text
        assert 'price_bucket{job_name="shop",le="10.0"} 2.0' in text
        assert 'price_sum{job_name="shop"} 12.5' in text
        assert text.count("# TYPE newest gauge") == 1
        assert "orders seen" in text
