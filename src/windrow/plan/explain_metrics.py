"""What EXPLAIN and DESCRIBE say about the metrics and alerts that annotations define."""

from __future__ import annotations

from typing import Any

from windrow.model.notes import Alert, Metric
from windrow.sql import render_expr
from windrow.sql.durations import show_duration


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


def alert_json(alert: Alert) -> dict[str, Any]:
    condition = None if alert.condition is None else render_expr(alert.condition)
    return {"name": alert.name, "condition": condition, "for_us": alert.hold, "level": alert.level, "text": alert.text}


def show_alert(alert: Alert) -> str:
    """
    >>> show_alert(Alert("TooMany", None, 300_000_000, "critical", "too many"))
    'TooMany: critical, for 5m: too many'
    """
    parts = [alert.level]
    parts += [f"when {render_expr(alert.condition)}"] if alert.condition is not None else []
    parts += [f"for {show_duration(alert.hold)}"] if alert.hold else []
    return f"{alert.name}: {', '.join(parts)}" + (f": {alert.text}" if alert.text else "")
