"""Telemetry from files through a job to a collector: every row as it was, over a restart."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import windrow
from tests.unit.connectors.collector import grpc_collector
from tests.unit.otap.files import at, attribute, log, write

SQL = """
CREATE STREAM logs WITH ('connector' = 'otap', 'path' = '{folder}/data', 'table' = 'logs', 'resource.ids' = 'partition_unique',
  'max.concurrent.windows' = '4');
CREATE STREAM out AS SELECT * FROM logs WHERE severity_number >= 2
  WITH ('connector' = 'otlp', 'endpoint' = '{address}', 'signal' = 'logs', 'id.attribute' = 'dedup.id');
CREATE STREAM counts AS
  SELECT 'errors' AS metric_name, COUNT(*) AS int_value, MAP('host', resource_attributes['host']) AS attributes, _window_end AS time
  FROM logs GROUP BY resource_attributes['host'] WINDOW TUMBLING(1m)
  WITH ('connector' = 'otlp', 'endpoint' = '{address}', 'signal' = 'metrics');
"""


def test_chosen_logs_and_counts_of_them_reach_a_collector(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for part in ("A", "B"):
        rows = [log(at("13:46:30") + n * 30 * 10**9, n, severity_number=n, body={"type": 1, "str": f"{part}{n}"}) for n in range(5)]
        write(data, "logs", rows, part)
        write(data, "log_attrs", [attribute(n, "number", str(n)) for n in range(5)], part)
        write(data, "resource_attrs", [attribute(0, "host", f"host {part}")], part)
    with grpc_collector() as collector:
        for _ in range(2):
            jobs = windrow.run(SQL.format(folder=tmp_path, address=collector.address), spark=spark, mode="once", state=tmp_path / "state")
            assert jobs.await_end(240)
            assert all(job.ledger.is_balanced for job in jobs.status())
    assert sorted(record.body.string_value for record in collector.logs) == ["A2", "A3", "A4", "B2", "B3", "B4"]
    attributes = [{one.key: one.value.string_value for one in record.attributes} for record in collector.logs]
    assert {own["number"] for own in attributes} == {"2", "3", "4"}
    assert len({own["dedup.id"] for own in attributes}) == 6
    (resource,) = {
        outer.resource.attributes[0].value.string_value
        for request in collector.requests
        for outer in getattr(request, "resource_logs", ())
        for record in outer.scope_logs[0].log_records
        if record.body.string_value == "B3"
    }
    assert resource == "host B"
    points = [
        (point.attributes[0].value.string_value, point.as_int, point.time_unix_nano)
        for request in collector.requests
        for outer in getattr(request, "resource_metrics", ())
        for metric in outer.scope_metrics[0].metrics
        for point in metric.gauge.data_points
    ]
    assert sorted(point for point in points if point[0] == "host A") == [
        ("host A", 1, at("13:47")),
        ("host A", 2, at("13:48")),
        ("host A", 2, at("13:49")),
    ]
