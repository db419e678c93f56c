"""Rules for Prometheus: what they say, and that each fires when it should and resolves after, judged by promtool."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import windrow
from windrow.model.expr import Binary, Call, Column, Expr, Literal
from windrow.model.notes import MetricType
from windrow.observe.dashboards import dashboard
from windrow.observe.instruments import INSTRUMENTS
from windrow.observe.promql import Known, NoPromQLError, promql
from windrow.observe.rules import rule_groups, standing

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH ('connector' = 'generator', 'event.time.field' = 'ts');
-- @metric: dear
-- @metric: price
-- @metric_type: histogram
-- @metric_field: price
-- @alert: TooDear
-- @alert_condition: RATE(dear, '2m') > 0.5
-- @alert_for: 2m
-- @alert_level: critical
-- @alert_text: too many
CREATE STREAM out AS SELECT symbol, price FROM trades;
"""
J = 'job_name="shop"'
# Alert -> series that make it fire, a minute each, and the labels that it then has. From minute 200 on they are well.
BROKEN: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "WindrowJobFailed": ({f'windrow_job_state{{{J},state="failed"}}': "1x200 0x400"}, {"state": "failed"}),
    "WindrowRestartLoop": ({f"windrow_job_start_time_seconds{{{J}}}": "0+60x200 0x400"}, {}),
    "WindrowLedgerUnbalanced": ({f"windrow_ledger_balanced{{{J}}}": "0x200 1x400"}, {}),
    "WindrowNoProgress": ({f"windrow_batch_running_seconds{{{J}}}": "300x200 0x400"}, {}),
    "WindrowWatermarkStalled": (
        {
            f'windrow_rows_in_total{{{J},source="s"}}': "0+10x600",
            f"windrow_watermark_advanced_seconds_total{{{J}}}": "5x200 5+60x400",
            f"windrow_job_watermark_lag_seconds{{{J}}}": "9x600",
        },
        {},
    ),
    "WindrowFallingBehind": (
        {
            f"windrow_batch_duration_seconds_sum{{{J}}}": "0+60x200 12000+1x400",
            f'windrow_source_backlog_rows{{{J},source="s",partition="0"}}': "0+100x200 0x400",
        },
        {},
    ),
    "WindrowThroughputDrop": ({f'windrow_rows_in_total{{{J},source="s"}}': "0+1000x1450 1450000+10x400 1454000+1000x400"}, {}),
    "WindrowDeadLetterRatio": (
        {
            f'windrow_rows_in_total{{{J},source="s"}}': "0+100x600",
            f'windrow_dead_letters_total{{{J},by="s",code="WR701"}}': "0+10x200 2000+0x400",
        },
        {},
    ),
    "WindrowLateRatio": (
        {
            f'windrow_rows_in_total{{{J},source="s"}}': "0+100x600",
            f'windrow_late_events_total{{{J},by="out",outcome="dead"}}': "0+10x200 2000+0x400",
        },
        {},
    ),
    "WindrowFilesUnread": ({f'windrow_source_unread_files{{{J},source="s"}}': "0+1x200 200x400"}, {"source": "s"}),
    "WindrowStateGrowth": (
        {
            f'windrow_hot_state_size_bytes{{{J},statement="out"}}': "1000+100x200 1000x400",
            f'windrow_rows_in_total{{{J},source="s"}}': "0+100x600",
        },
        {},
    ),
    "WindrowSinkSlow": (
        {
            f'windrow_sink_duration_seconds_sum{{{J},sink="out"}}': "0+50x200 10000+1x400",
            f"windrow_batch_duration_seconds_sum{{{J}}}": "0+60x600",
        },
        {"sink": "out"},
    ),
    "WindrowSystemDown": ({f'windrow_system_breaker_open{{{J},system="Kafka"}}': "1x200 0x400"}, {"system": "Kafka"}),
    "WindrowTableStale": ({f'windrow_table_stale{{{J},table="rates"}}': "1x200 0x400"}, {"table": "rates"}),
    "WindrowTraceLoss": (
        {f"windrow_trace_rows_total{{{J}}}": "0+10x600", f"windrow_trace_rows_with_context_total{{{J}}}": "0+5x200 1000+10x400"},
        {},
    ),
    "TooDear": ({f"dear_total{{{J}}}": "0+60x200 12000+0x400"}, {}),
}
ABSENT, LIMITS = "WindrowJobGone", "WindrowStateNearLimit"


def _groups() -> dict[str, Any]:
    plan = windrow.compile(SQL).plan
    return rule_groups(["shop"], [metric for _, metric in plan.metrics], plan.alerts)


def test_every_rule_has_a_situation_in_which_it_is_tried() -> None:
    names = {rule["alert"] for group in _groups()["groups"] for rule in group["rules"]}
    assert names == {*BROKEN, ABSENT, LIMITS}


def test_rules_name_metrics_that_there_are() -> None:
    known = {one.full_name for one in INSTRUMENTS.values()}
    for rule in standing():
        for name in re.findall(r"windrow_[a-z_]+", rule.condition):
            assert name in known or re.sub(r"_(sum|count|bucket)$", "", name) in known, name


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_each_alert_fires_and_resolves(tmp_path: Path) -> None:
    rules = {rule["alert"]: rule for group in _groups()["groups"] for rule in group["rules"]}
    tests = [_fires(name, series, labels, rules[name]) for name, (series, labels) in BROKEN.items()]
    tests.append(_fires(ABSENT, {f"windrow_job_uptime_seconds{{{J}}}": "_x200 1x400"}, {}, rules[ABSENT]))
    limits = [rule for group in _groups()["groups"] for rule in group["rules"] if rule["alert"] == LIMITS]
    for rule, value in zip(limits, ("0.8", "0.9", "0.99"), strict=True):
        series = {f'windrow_state_limit_used_ratio{{{J},limit="state.max_bytes"}}': f"{value}x200 0.1x400"}
        tests.append(_fires(LIMITS, series, {"limit": "state.max_bytes"}, rule))
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(_groups()))
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": tests}))
    checked = subprocess.run(["promtool", "check", "rules", str(tmp_path / "rules.yml")], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    done = subprocess.run(["promtool", "test", "rules", str(tmp_path / "test.yml")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _fires(name: str, series: dict[str, str], labels: dict[str, str], rule: dict[str, Any]) -> dict[str, Any]:
    """Fires at minute 190 and is over at minute 420; what compares with yesterday needs a day first."""
    at, over = ("1500m", "2200m") if name == "WindrowThroughputDrop" else ("190m", "420m")
    told = {"severity": rule["labels"]["severity"], "job_name": "shop", **labels}
    texts = {key: _filled(text, told) for key, text in rule["annotations"].items()}
    return {
        "interval": "1m",
        "name": name,
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "alert_rule_test": [
            {"eval_time": at, "alertname": name, "exp_alerts": [{"exp_labels": told, "exp_annotations": texts}]},
            {"eval_time": over, "alertname": name, "exp_alerts": []},
        ],
    }


def _filled(text: str, labels: dict[str, str]) -> str:
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: labels[found[1]], text)


KNOWN = Known({"orders": MetricType.COUNTER, "price": MetricType.HISTOGRAM, "level": MetricType.GAUGE})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Binary(">", Column("orders_total"), Literal(5)), "sum by (job_name) (orders_total) > 5"),
        (Binary("=", Column("LEVEL"), Literal(5)), "max by (job_name) (level) == 5"),
        (
            Binary(">", Binary("/", Call("INCREASE", (Column("price_sum"), Literal("1h"))), Column("price_count")), Literal(1)),
            "(sum by (job_name) (increase(price_sum[1h])) / sum by (job_name) (price_count)) > 1",
        ),
        (
            Binary("<", Call("quantile", (Column("price"), Literal(0.5))), Literal(2)),
            "histogram_quantile(0.5, sum by (job_name, le) (rate(price_bucket[5m]))) < 2",
        ),
        (
            Binary(">", Column("windrow_job_watermark_lag_seconds"), Literal(60)),
            "max by (job_name) (windrow_job_watermark_lag_seconds) > 60",
        ),
    ],
)
def test_conditions_become_promql(condition: Expr, expected: str) -> None:
    assert promql(condition, KNOWN) == expected


@pytest.mark.parametrize(
    "condition",
    [
        Column("orders"),
        Binary(">", Column("nothing"), Literal(1)),
        Binary(">", Column("price"), Literal(1)),
        Binary(">", Call("RATE", (Column("level"),)), Literal(1)),
        Binary(">", Call("RATE", (Column("orders"), Literal("soon"))), Literal(1)),
        Binary(">", Call("SQRT", (Column("orders"),)), Literal(1)),
        Binary(">", Call("QUANTILE", (Column("price"), Literal(95))), Literal(1)),
        Binary(">", Literal(2), Literal(1)),
    ],
)
def test_what_is_no_condition_is_refused_with_a_hint(condition: Expr) -> None:
    with pytest.raises(NoPromQLError) as refused:
        promql(condition, KNOWN)
    assert refused.value.hint


def test_a_board_has_a_row_for_each_statement_and_one_for_the_metrics() -> None:
    plan = windrow.compile(SQL).plan
    board = json.loads(json.dumps(dashboard("shop", ["shop"], ["out"], plan.metrics)))
    assert [panel["title"] for panel in board["panels"] if panel["type"] == "row"] == ["Jobs", "Statement out", "Metrics of the file"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    places = [tuple(panel["gridPos"].values()) for panel in board["panels"]]
    assert len({place[:2] for place in places}) == len(places)
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    assert any("dear_total" in query for query in queries)
    known = {one.full_name for one in INSTRUMENTS.values()}
    for name in {found for query in queries for found in re.findall(r"windrow_[a-z_]+", query)}:
        assert name in known or re.sub(r"_(sum|count|bucket)$", "", name) in known, name
