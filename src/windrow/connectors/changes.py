"""Options of sources whose records are changes of rows (``'format' = 'debezium'``)."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.model.changes import OP
from windrow.model.types import ColumnDef

DEBEZIUM = "debezium"
TIME_UNIT = OptionSpec(
    "debezium.time.unit",
    OptionKind.CHOICE,
    "what numbers count in TIMESTAMP columns of envelopes without a schema; `auto`, by their size",
    choices=("auto", "ms", "us", "ns"),
    example="us",
)


def change_column(options: Mapping[str, str]) -> ColumnDef | None:
    """The column that says which change a record is, where a source with these options gives changes."""
    return OP if options.get("format", "").lower() == DEBEZIUM else None
