"""What the Kafka connector understands."""

from __future__ import annotations

from windrow.connectors.kafka.sink_options import SINK_OPTIONS
from windrow.connectors.kafka.source_options import SOURCE_OPTIONS, lane
from windrow.connectors.spec import ConnectorSpec

KAFKA = ConnectorSpec(
    name="kafka",
    summary="topics of Apache Kafka",
    runtime="windrow.connectors.kafka.runtime",
    source=SOURCE_OPTIONS,
    sink=SINK_OPTIONS,
    source_partitions=None,
    is_loadable=True,
    lane=lane,
)
