"""The OTLP sink against a collector that takes, refuses, is away and rejects."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import grpc
import pyarrow as pa
import pytest
from google.protobuf.any_pb2 import Any as Packed
from google.protobuf.duration_pb2 import Duration
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse

from tests.unit.connectors.collector import Collector, grpc_collector, http_collector
from windrow.compiler import compile_sql
from windrow.connectors.otlp.failures import AnswerError, asked_pause, classify
from windrow.connectors.otlp.settings import Settings
from windrow.connectors.otlp.sink import OtlpSink
from windrow.connectors.runtime import Output, Refused, SinkRequest
from windrow.errors import JobError, UsageError
from windrow.model.types import BIGINT, INT, STRING, ColumnDef, Map
from windrow.otap.rebuild.wire import _number, _piece
from windrow.resilience import FailureClass

MAPS = pa.map_(pa.string(), pa.string())


@pytest.fixture(params=["grpc", "http"])
def collector(request: pytest.FixtureRequest) -> Iterator[Collector]:
    with grpc_collector() if request.param == "grpc" else http_collector() as made:
        made.protocol = request.param  # type: ignore[attr-defined]  # only these tests ask which of the two it is
        yield made


def sink_for(collector: Collector, signal: str = "logs", **more: str) -> OtlpSink:
    options = {"endpoint": collector.address, "signal": signal, "protocol": getattr(collector, "protocol", "grpc")}
    options |= {key.replace("__", "."): value for key, value in more.items()}
    sink = OtlpSink(Settings.of(options), SinkRequest("out", options, "job"))
    sink.open()
    return sink


def logs(count: int = 3) -> pa.Table:
    return pa.table(
        {
            "time_unix_nano": pa.array(range(1000, 1000 + count), pa.int64()),
            "trace_id": ["0a" * 16] * count,
            "severity_number": pa.array([17] * count, pa.int32()),
            "body": [{"type": 2, "int": n} for n in range(count)],
            "attributes": pa.array([[("n", str(n)), ("none", None)] for n in range(count)], MAPS),
            "resource_attributes": pa.array([[("host", f"h{n % 2}")] for n in range(count)], MAPS),
            "scope": [{"name": "lib", "version": "1"}] * count,
        }
    )


def send(sink: OtlpSink, table: pa.Table, batch_id: int = 7) -> list[Refused]:
    return list(sink.write(Output(batch_id, tuple(name for name in table.column_names if name != "_emission"), table)))


def test_rows_arrive_by_resource_and_scope(collector: Collector) -> None:
    sink = sink_for(collector, headers__Authorization="Bearer secret")
    send(sink, logs())
    (request,) = collector.requests
    hosts = [outer.resource.attributes[0].value.string_value for outer in request.resource_logs]
    assert hosts == ["h0", "h1"]
    first = request.resource_logs[0].scope_logs[0]
    assert (first.scope.name, first.scope.version) == ("lib", "1")
    record = first.log_records[1]
    assert (record.time_unix_nano, record.severity_number, record.body.int_value) == (1002, 17, 2)
    assert record.trace_id == b"\n" * 16
    assert {one.key: one.value.WhichOneof("value") for one in record.attributes} == {"n": "string_value", "none": None}
    assert collector.headers[0]["authorization"] == "Bearer secret"
    assert collector.headers[0]["windrow-id"].startswith("job/out/7/")
    sink.close()


def test_a_batch_is_cut_by_rows_and_by_bytes(collector: Collector) -> None:
    send(sink_for(collector, request__rows="4"), logs(10))
    assert [sum(len(outer.scope_logs[0].log_records) for outer in one.resource_logs) for one in collector.requests] == [4, 4, 2]
    collector.requests.clear()
    send(sink_for(collector, request__bytes="400"), logs(10))
    assert len(collector.requests) > 1
    assert all(one.ByteSize() <= 400 for one in collector.requests)
    assert sorted(record.body.int_value for record in collector.logs) == list(range(10))


def test_what_passes_is_sent_again_until_taken_and_retry_after_is_kept(collector: Collector) -> None:
    if collector.protocol == "grpc":  # type: ignore[attr-defined]
        delay = Packed(type_url="type.googleapis.com/google.rpc.RetryInfo", value=_piece(1, Duration(seconds=1).SerializeToString()))
        status = _number(1, 14) + _piece(3, delay.SerializeToString())
        collector.script = [(grpc.StatusCode.UNAVAILABLE, "restarting"), (grpc.StatusCode.RESOURCE_EXHAUSTED, "quota", status)]
        assert asked_pause(status) == 1.0
    else:
        collector.script = [(503,), (429, ("Retry-After", "1"))]
    sink = sink_for(collector)
    begun = time.monotonic()
    send(sink, logs())
    assert time.monotonic() - begun >= 1.0
    assert len(collector.logs) == 3


def test_what_stays_is_shown_at_once(collector: Collector) -> None:
    is_grpc = collector.protocol == "grpc"  # type: ignore[attr-defined]
    collector.script = [(grpc.StatusCode.UNAUTHENTICATED, "who are you") if is_grpc else (401,)]
    with pytest.raises(JobError, match="could not send 3 logs of batch 7 of out") as caught:
        send(sink_for(collector), logs())
    assert caught.value.code == "WR888"
    assert "headers.authorization" in str(caught.value.hint)
    assert collector.requests == []


def test_rejected_rows_are_a_warning_or_an_error(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    partial = ExportLogsServiceResponse(partial_success=ExportLogsPartialSuccess(rejected_log_records=2, error_message="too old"))
    collector.script = [partial, partial]
    send(sink_for(collector), logs())
    assert "rejects 2 of 3 logs of batch 7: too old" in caplog.text
    with pytest.raises(JobError, match="rejects 2 of 3 logs of batch 7: too old") as caught:
        send(sink_for(collector, on__rejected="fail"), logs())
    assert caught.value.code == "WR888"


def test_marks_are_the_same_in_any_order_and_tell_equal_records_apart(collector: Collector) -> None:
    def marks() -> list[str]:
        found = [one.value.string_value for record in collector.logs for one in record.attributes if one.key == "dedup.id"]
        collector.requests.clear()
        return found

    rows = pa.concat_tables([logs(5), logs(5)])
    sink = sink_for(collector, id__attribute="dedup.id", request__bytes="500")
    send(sink, rows)
    first = marks()
    send(sink, rows.take(list(reversed(range(10)))))
    assert len(set(first)) == 10
    assert sorted(marks()) == sorted(first)
    send(sink, rows, batch_id=8)
    assert not set(marks()) & set(first)


def test_rows_that_a_collector_refuses_are_set_aside_and_the_others_sent(collector: Collector) -> None:
    is_grpc = collector.protocol == "grpc"  # type: ignore[attr-defined]

    def has_a_five(request: Any) -> bool:
        return any(one.body.int_value == 5 for outer in request.resource_logs for inner in outer.scope_logs for one in inner.log_records)

    collector.is_wrong = has_a_five
    collector.wrong = (grpc.StatusCode.INVALID_ARGUMENT, "no fives") if is_grpc else (400,)
    with pytest.raises(JobError, match="refuses it") as caught:
        send(sink_for(collector), logs(12))
    assert "'failure.policy' = 'dead_letter'" in (caught.value.hint or "")
    sink = sink_for(collector, failure__policy="dead_letter", id__attribute="dedup.id")
    (refused,) = send(sink, logs(12))
    assert (refused.row["body"]["int"], refused.why) == (5, "INVALID_ARGUMENT: no fives" if is_grpc else "400: Bad Request")
    assert sorted(record.body.int_value for record in collector.logs) == [n for n in range(12) if n != 5]
    marks = {one.value.string_value for record in collector.logs for one in record.attributes if one.key == "dedup.id"}
    # A record of a request that was refused keeps the mark that it had there.
    assert not any(mark.endswith("-1") for mark in marks)
    # Who sends is not what the rows hold.
    collector.wrong = (grpc.StatusCode.PERMISSION_DENIED, "no") if is_grpc else (403,)
    with pytest.raises(JobError, match="refuses it"):
        send(sink, logs(12))


def test_rows_that_cannot_be_made_telemetry_are_set_aside_too() -> None:
    with grpc_collector() as collector:
        sink = sink_for(collector, failure__policy="dead_letter")
        (refused,) = send(sink, pa.table({"body": ["good", "bad"], "trace_id": ["ab" * 16, "zz"]}))
        assert refused.row["body"] == "bad"
        assert [record.body.string_value for record in collector.logs] == ["good"]


def test_a_collector_that_is_away_is_said(collector: Collector) -> None:
    sink = sink_for(collector, retry__timeout="1s", request__timeout="1s")
    away = grpc.StatusCode.UNAVAILABLE, "no"
    collector.script = [away if collector.protocol == "grpc" else (503,)] * 50  # type: ignore[attr-defined]
    with pytest.raises(JobError, match="did not take it in time") as caught:
        send(sink, logs())
    assert caught.value.code == "WR889"


def test_spans() -> None:
    table = pa.table(
        {
            "name": ["GET /"],
            "trace_id": ["ab" * 16],
            "span_id": ["cd" * 8],
            "start_time_unix_nano": [100],
            "duration_time_unix_nano": [11],
            "kind": [2],
            "status": [{"code": 2, "status_message": "no"}],
            "events": [[{"name": "retry", "time_unix_nano": 105, "attributes": [("n", "2")]}]],
            "links": [[{"trace_id": "ef" * 16, "span_id": "01" * 8}]],
        }
    )
    with grpc_collector() as collector:
        send(sink_for(collector, "traces"), table)
        span = collector.requests[0].resource_spans[0].scope_spans[0].spans[0]
    assert (span.name, span.end_time_unix_nano, span.kind, span.status.code, span.status.message) == ("GET /", 111, 2, 2, "no")
    assert span.parent_span_id == b""
    assert [(one.name, one.time_unix_nano, one.attributes[0].value.string_value) for one in span.events] == [("retry", 105, "2")]
    assert [(one.trace_id, one.span_id) for one in span.links] == [(b"\xef" * 16, b"\x01" * 8)]


def test_points_of_a_metric_stay_together_and_counts_become_gauges() -> None:
    at = datetime(2026, 1, 1, 0, 0, 0, 5, UTC)
    table = pa.table(
        {
            "time": pa.array([at] * 4, pa.timestamp("us", "UTC")),
            "metric_name": ["errors", "errors", "load", "sizes"],
            "metric_type": pa.array([2, 2, None, 3], pa.int32()),
            "aggregation_temporality": pa.array([1, 1, None, 2], pa.int32()),
            "int_value": [1, 2, None, None],
            "double_value": [None, None, 0.5, None],
            "count": [None, None, None, 3],
            "bucket_counts": [None, None, None, [1, 2]],
            "explicit_bounds": [None, None, None, [10.0]],
        }
    )
    with http_collector() as collector:
        send(sink_for(collector, "metrics", protocol="http"), table)
        errors, load, sizes = collector.requests[0].resource_metrics[0].scope_metrics[0].metrics
    assert [point.as_int for point in errors.sum.data_points] == [1, 2]
    assert errors.sum.aggregation_temporality == 1
    assert load.gauge.data_points[0].as_double == 0.5
    assert load.gauge.data_points[0].time_unix_nano == 1_767_225_600_000_005_000
    assert list(sizes.histogram.data_points[0].bucket_counts) == [1, 2]


def test_a_text_is_a_body_and_a_retraction_cannot_be_sent() -> None:
    with grpc_collector() as collector:
        sink = sink_for(collector)
        send(sink, pa.table({"body": ["hello"], "_emission": ["final"]}))
        assert collector.logs[0].body.string_value == "hello"
        with pytest.raises(JobError, match="takes a row back"):
            send(sink, pa.table({"body": ["hello"], "_emission": ["retract"]}))
        with pytest.raises(JobError, match="cannot be made logs of OTLP"):
            send(sink, pa.table({"body": ["hello"], "trace_id": ["zz"]}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"endpoint": "ftp://x"}, "no address"),
        ({"endpoint": "http://user:secret@x"}, "no address"),
        ({"endpoint": "x:1", "request.rows": "0"}, "above 0"),
        ({"endpoint": "x:1", "request.timeout": "soon"}, "not a duration"),
        ({"endpoint": "x:1", "tls.ca": "missing.pem"}, "cannot be read"),
    ],
)
def test_wrong_options(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Settings.of({"signal": "logs", **options})
    assert caught.value.code == "WR887"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "signal", "address"),
    [
        ({"endpoint": "localhost:4317"}, "logs", "localhost:4317"),
        ({"endpoint": "https://c.example:4317/"}, "logs", "c.example:4317"),
        ({"endpoint": "http://c:4318", "protocol": "http"}, "traces", "http://c:4318/v1/traces"),
        ({"endpoint": "http://c/otel/logs", "protocol": "HTTP"}, "logs", "http://c/otel/logs"),
    ],
)
def test_addresses(given: dict[str, str], signal: str, address: str) -> None:
    assert Settings.of({"signal": signal, **given}).address == address


def test_columns_without_a_place_are_refused() -> None:
    def opened(signal: str, *columns: ColumnDef) -> OtlpSink:
        options = {"endpoint": "x:1", "signal": signal}
        return OtlpSink(Settings.of(options), SinkRequest("out", options, "job", columns))

    texts = ColumnDef("attributes", Map(STRING, BIGINT))
    opened("logs", texts, ColumnDef("severity_number", BIGINT), ColumnDef("body", STRING))
    with pytest.raises(UsageError, match='no place for the column "host"'):
        opened("logs", texts, ColumnDef("host", STRING))
    with pytest.raises(UsageError, match='"severity_number" of out is STRING, and must be INT'):
        opened("logs", texts, ColumnDef("severity_number", STRING))
    with pytest.raises(UsageError, match="has none of the columns metric_name"):
        opened("metrics", ColumnDef("int_value", INT))


def test_a_message_that_is_too_long_is_not_sent_again() -> None:
    assert classify(AnswerError("RESOURCE_EXHAUSTED", "grpc: received message larger than max (5 vs. 4)")) is FailureClass.DATA
    assert classify(AnswerError("RESOURCE_EXHAUSTED", "quota")) is FailureClass.RESOURCE
    assert classify(AnswerError(404, "")) is FailureClass.PERMANENT


def test_headers_are_never_printed() -> None:
    sql = """
    CREATE STREAM logs WITH ('connector' = 'otap', 'path' = 'telemetry', 'table' = 'logs');
    CREATE STREAM out AS SELECT * FROM logs WHERE severity_number >= 17
    WITH ('connector' = 'otlp', 'endpoint' = 'c:4317', 'signal' = 'logs', 'headers.authorization' = 'secret');
    """
    plan: Any = compile_sql(sql, "x.sql", {}).plan
    assert "secret" not in repr(Settings.of({"endpoint": "c:1", "signal": "logs", "headers.authorization": "secret"}))
    assert len(plan.jobs) == 1
