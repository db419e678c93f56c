"""A trace from a producer, through a window, to a record of an output, at a collector that speaks OTLP."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from confluent_kafka import Consumer
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, options, send
from windrow.compiler import compile_sql
from windrow.jobs import RunOptions, start

pytestmark = pytest.mark.integration

PRODUCED = [f"00-{n:032x}-{n:016x}-01" for n in (1, 2, 3)]
START = 1_767_605_400_000


class Spans:
    def __init__(self) -> None:
        self.address = ""
        self.requests: list[Any] = []

    @property
    def all(self) -> list[Any]:
        return [span for one in self.requests for outer in one.resource_spans for inner in outer.scope_spans for span in inner.spans]

    def named(self, name: str) -> list[Any]:
        return [span for span in self.all if span.name == name]


@pytest.fixture(params=["grpc", "http"])
def collector(request: pytest.FixtureRequest) -> Iterator[tuple[str, Spans]]:
    spans = Spans()
    if request.param == "grpc":
        yield from _grpc(spans)
    else:
        yield from _http(spans)


def _grpc(spans: Spans) -> Iterator[tuple[str, Spans]]:
    def export(body: Any, _context: Any) -> Any:
        spans.requests.append(body)
        return ExportTraceServiceResponse()

    handler = grpc.unary_unary_rpc_method_handler(
        export, request_deserializer=ExportTraceServiceRequest.FromString, response_serializer=ExportTraceServiceResponse.SerializeToString
    )
    service = "opentelemetry.proto.collector.trace.v1.TraceService"
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
    spans.address = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield "grpc", spans
    server.stop(0)


def _http(spans: Spans) -> Iterator[tuple[str, Spans]]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            assert self.path == "/v1/traces"
            spans.requests.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spans.address = f"http://127.0.0.1:{server.server_port}"
    yield "http", spans
    server.shutdown()
    server.server_close()


def _run(runner: Runner, sql: str, settings: dict[str, str]) -> None:
    jobs = start(compile_sql(sql, "test.sql", {}), RunOptions("until_end", runner.folder / "state", settings=settings), runner.spark)
    try:
        assert jobs.await_end(120)
    finally:
        jobs.stop()


def _headers(broker: Broker, topic: str, count: int) -> list[dict[str, str]]:
    consumer = Consumer(
        {"bootstrap.servers": broker.address, "group.id": topic, "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    )
    consumer.subscribe([topic])
    found: list[dict[str, str]] = []
    try:
        while len(found) < count:
            message: Any = consumer.poll(60)
            assert message is not None, f"{len(found)} of {count} records came"
            assert message.error() is None
            found.append({name: value.decode() for name, value in message.headers() or ()})
    finally:
        consumer.close()
    return found


def test_a_trace_leads_from_producers_through_a_window_to_the_output(
    spark: SparkSession, broker: Broker, tmp_path: Path, collector: tuple[str, Spans]
) -> None:
    protocol, spans = collector
    source, windows, rows, others = (broker.topic(partitions=1) for _ in range(4))
    send(
        broker,
        source,
        [
            Record({"k": key, "ts": START + n}, headers=(("traceparent", context.encode()),))
            for n, (key, context) in enumerate(zip(["a", "b", "b"], PRODUCED, strict=True))
        ],
    )
    sql = f"""
    CREATE STREAM t (k STRING, ts BIGINT) WITH ({options(broker, source, format="json", event__time__field="ts")});
    CREATE STREAM counts AS SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(1m) WITH ({options(broker, windows, format="json")});
    CREATE STREAM copies AS SELECT k FROM t WHERE k = 'a' WITH ({options(broker, rows, format="json")});
    CREATE STREAM u (k STRING) WITH ({options(broker, source, format="json", trace__context="off")});
    CREATE STREAM others AS SELECT k FROM u WHERE k = 'a' WITH ({options(broker, others, format="json")});
    """
    _run(Runner(spark, tmp_path), sql, {"traces.endpoint": spans.address, "traces.protocol": protocol})

    read = next(span for span in spans.all if span.kind == span.SPAN_KIND_CONSUMER and span.links)
    assert {one.trace_id.hex() for one in read.links} <= {context.split("-")[1] for context in PRODUCED}
    assert len(read.links) == 2, "a link to the last row of each group"

    closed = next(span for span in spans.named("write counts") if span.links)
    assert [one["traceparent"] for one in _headers(broker, windows, 2)] == [f"00-{closed.trace_id.hex()}-{closed.span_id.hex()}-01"] * 2
    assert len(closed.links) == 2
    starts = {each.key: each.value.string_value for link in closed.links for each in link.attributes}
    assert starts == {"windrow.window.start": "2026-01-05T09:30:00.000Z"}
    parents = {span.span_id for span in spans.all}
    assert closed.parent_span_id in parents

    assert _headers(broker, rows, 1)[0]["traceparent"] == PRODUCED[0]
    copied = next(span for span in spans.named("write copies") if span.links)
    assert [one.trace_id.hex() for one in copied.links] == [PRODUCED[0].split("-")[1]]

    unfollowed = spans.named("write others")
    assert not any(span.links for span in unfollowed)
    own = [f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01" for span in unfollowed]
    assert _headers(broker, others, 1)[0]["traceparent"] in own
