"""What the delta connector understands."""

from __future__ import annotations

from windrow.connectors.lake.settings import RETRY, SINK_OPTIONS, STORAGE
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec

_PATH = OptionSpec(
    "path", OptionKind.PATH, "folder of the table: a path, or s3://, gs://, abfss://", is_required=True, example="lake/volumes"
)

DELTA = ConnectorSpec(
    name="delta",
    summary="a Delta Lake table: rows are added or upserted exactly once, or loaded as reference data",
    runtime="windrow.connectors.delta.runtime:DeltaConnector",
    source=(_PATH, RETRY, STORAGE),
    sink=(_PATH, *SINK_OPTIONS, STORAGE),
    is_loadable=True,
    is_streamable=False,
    is_ordered=True,
)
