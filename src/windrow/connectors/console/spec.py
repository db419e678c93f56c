"""What the console understands."""

from __future__ import annotations

from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, nowhere

CONSOLE = ConnectorSpec(
    is_outside=False,
    name="console",
    summary="rows printed as a table or as JSON lines",
    runtime="windrow.connectors.console.runtime:ConsoleConnector",
    sink=(
        OptionSpec(
            "format",
            OptionKind.CHOICE,
            "a table for people, or a JSON object a line",
            default="table",
            choices=("table", "json"),
            example="json",
        ),
        OptionSpec("rows", OptionKind.INTEGER, "how many rows of a batch are shown at most; 20 for tables, all for json", example="100"),
        OptionSpec("width", OptionKind.INTEGER, "longer values are cut in tables", default="40", example="80"),
    ),
    is_ordered=True,
    places=nowhere,
)
