"""What an OTLP sink understands."""

from __future__ import annotations

from dataclasses import replace

from windrow.connectors.spec import FAILURE_POLICY, SIGNALS, ConnectorSpec, OptionKind, OptionSpec

GRPC, HTTP = "grpc", "http"

_CHOICE, _DURATION, _INTEGER = OptionKind.CHOICE, OptionKind.DURATION, OptionKind.INTEGER

OTLP = ConnectorSpec(
    name="otlp",
    summary="telemetry to an OpenTelemetry collector over gRPC or HTTP, at least once",
    runtime="windrow.connectors.otlp.runtime:OtlpConnector",
    sink=(
        OptionSpec(
            "endpoint", OptionKind.TEXT, "where the collector listens; with https:// encrypted",
            is_required=True, example="http://localhost:4317", may_change=True,
        ),
        OptionSpec("signal", _CHOICE, "what the rows are", is_required=True, choices=SIGNALS, example="logs"),
        OptionSpec("protocol", _CHOICE, "how requests are sent", default=GRPC, choices=(GRPC, HTTP), example=HTTP, may_change=True),
        OptionSpec(
            "compression", _CHOICE, "how requests are compressed",
            default="gzip", choices=("gzip", "none"), example="none", may_change=True,
        ),
        OptionSpec(
            "headers.*", OptionKind.TEXT, "a header of each request, such as headers.authorization; never printed",
            example="Bearer ${TOKEN}", example_key="headers.authorization", is_secret=True, may_change=True,
        ),
        OptionSpec("tls.ca", OptionKind.PATH, "certificates to trust in place of the system's (PEM)", example="ca.pem", may_change=True),
        OptionSpec("request.rows", _INTEGER, "how many rows a request has at most", default="2000", example="500", may_change=True),
        OptionSpec(
            "request.bytes", _INTEGER, "how many bytes a request has at most, before it is compressed; collectors take 4 MiB unless told",
            default="4000000", example="1000000", may_change=True,
        ),
        OptionSpec("request.timeout", _DURATION, "how long one request may take", default="10s", example="30s", may_change=True),
        OptionSpec(
            "retry.timeout", _DURATION, "how long a batch waits for a collector that does not answer before the job stops",
            default="10m", example="1h", may_change=True,
        ),
        replace(FAILURE_POLICY, may_change=True),
        OptionSpec(
            "on.rejected", _CHOICE, "what happens when the collector takes a request and rejects some of its rows",
            default="warn", choices=("warn", "fail"), example="fail", may_change=True,
        ),
        OptionSpec(
            "id.attribute", OptionKind.TEXT, "attribute that each record is given, the same whenever its batch is sent again",
            example="dedup.id",
        ),
    ),
)  # fmt: skip
