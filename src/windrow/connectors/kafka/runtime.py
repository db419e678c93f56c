"""What the Kafka connector does: the doors that the engine opens."""

from __future__ import annotations

from windrow.connectors.kafka.source import open_source
from windrow.connectors.kafka.source_failures import explain_failure

__all__ = ["explain_failure", "open_source"]
