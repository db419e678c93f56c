"""What EXPLAIN and DESCRIBE say about the metrics that annotations define."""

from __future__ import annotations

from typing import Any

from windrow.model.notes import Metric
from windrow.sql import render_expr


def metric_json(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "type": metric.type.value,
        "help": metric.help,
        "labels": list(metric.labels),
        "condition": None if metric.condition is None else render_expr(metric.condition),
        "field": metric.field,
        "buckets": list(metric.buckets),
        "sample_rate": metric.sample_rate,
    }


def show_metric(metric: Metric) -> str:
    """
    >>> show_metric(Metric("orders_total", labels=("symbol",), sample_rate=0.5))
    'orders_total: counter of rows, by symbol, of 0.5 of the rows'
    """
    parts = [f"{metric.name}: {metric.type.value} of {metric.field or 'rows'}"]
    parts += [f"by {', '.join(metric.labels)}"] if metric.labels else []
    parts += [f"where {render_expr(metric.condition)}"] if metric.condition is not None else []
    parts += [f"buckets {', '.join(f'{bound:g}' for bound in metric.buckets)}"] if metric.buckets else []
    parts += [f"of {metric.sample_rate:g} of the rows"] if metric.sample_rate != 1 else []
    return ", ".join(parts)
