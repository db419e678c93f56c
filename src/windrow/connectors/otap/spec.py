"""What the OTAP receiver understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.paths import place_of_path
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, Place, SourceShape
from windrow.otap.columns import TABLES, TIME, columns_of

_DURATION, _CHOICE = OptionKind.DURATION, OptionKind.CHOICE


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    folder = place_of_path(options.get("path", ""))
    return (Place(folder.namespace, f"{folder.name}#{options.get('table', '')}"),)


OTAP = ConnectorSpec(
    is_outside=False,
    worker_modules=lambda _options: ("pyarrow", "polars", "windrow"),
    name="otap",
    summary="OpenTelemetry data in Parquet files of the OTAP exporter, as complete windows in event time",
    runtime="windrow.connectors.otap.runtime:OtapConnector",
    source=(
        OptionSpec("path", OptionKind.PATH, "folder that holds the tables' folders", is_required=True, example="telemetry"),
        OptionSpec("table", _CHOICE, "which table's rows", is_required=True, choices=TABLES, example="logs"),
        OptionSpec(
            "processing.delay", _DURATION, "time that pipelines and uploads are given",
            default="10m", example="5m", may_change=True,
        ),
        OptionSpec("max.clock.drift", _DURATION, "how far the clocks of hosts may be off", default="1m", example="30s", may_change=True),
        OptionSpec(
            "max.file.duration", _DURATION, "how long the exporter keeps a file open",
            default="1m", example="10s", may_change=True,
        ),
        OptionSpec(
            "window.granularity", _DURATION, "length of the windows that are handed over whole",
            default="1m", example="10s", may_change=True,
        ),
        OptionSpec(
            "start.time", OptionKind.TEXT, "first window: earliest, latest or a time (ISO 8601)",
            default="earliest", example="2026-01-01T00:00:00Z",
        ),
        OptionSpec(
            "max.concurrent.windows", OptionKind.INTEGER, "how many windows with rows a batch takes",
            default="1", example="4", may_change=True,
        ),
        OptionSpec(
            "settings.file", OptionKind.PATH, "JSON file with other times and max.concurrent.windows, looked at while the job runs",
            example="receiver.json", may_change=True,
        ),
        OptionSpec(
            "span.time", _CHOICE, "whether a span counts when it ended or when it started",
            default="end", choices=("end", "start"), example="start",
        ),
        OptionSpec(
            "time.fallback", _CHOICE, "by what a log without a time counts",
            default="observed", choices=("observed", "none"), example="none",
        ),
        OptionSpec(
            "resource.ids", _CHOICE, "whether resource and scope ids count from 0 in every batch, as the exporter leaves them",
            default="batch_local", choices=("batch_local", "partition_unique"), example="partition_unique",
        ),
        OptionSpec(
            "now", OptionKind.TIME, "time to take for now, to see what was safe then",
            example="2026-01-01T00:20:00Z", may_change=True,
        ),
    ),
    columns=columns_of,
    event_time=TIME,
    source_shape=lambda _options: SourceShape(None),
    places=_places,
    watermark="the end of the last window that was handed over",
)  # fmt: skip
