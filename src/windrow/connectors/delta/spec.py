"""What the delta connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.lake.settings import RETRY, SINK_OPTIONS, STORAGE
from windrow.connectors.paths import place_of_path
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, Place

_PATH = OptionSpec(
    "path", OptionKind.PATH, "folder of the table: a path, or s3://, gs://, abfss://", is_required=True, example="lake/volumes"
)


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    return (place_of_path(options.get("path", "")),)


DELTA = ConnectorSpec(
    name="delta",
    summary="a Delta Lake table: rows are added or upserted exactly once, or loaded as reference data",
    runtime="windrow.connectors.delta.runtime:DeltaConnector",
    source=(_PATH, RETRY, STORAGE),
    sink=(_PATH, *SINK_OPTIONS, STORAGE),
    is_loadable=True,
    is_streamable=False,
    is_ordered=True,
    places=_places,
    has_target_columns=True,
)
