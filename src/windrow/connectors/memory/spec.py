"""What the memory connector understands."""

from __future__ import annotations

from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, nowhere

MEMORY = ConnectorSpec(
    is_outside=False,
    name="memory",
    summary="rows handed over by a case or a notebook; for tests",
    runtime="windrow.connectors.memory.runtime:MemoryConnector",
    source=(
        OptionSpec("partitions", OptionKind.INTEGER, "how many partitions the rows come from", default="1", example="2"),
        OptionSpec("headers", OptionKind.BOOLEAN, "whether rows have headers, for emissions to carry on", default="false", example="true"),
    ),
    sink=(),
    source_partitions=None,
    is_loadable=True,
    is_ordered=True,
    places=nowhere,
    keeps_rows=True,
)
