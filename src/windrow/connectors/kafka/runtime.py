"""What the Kafka connector does: the doors that the engine opens, and what going back means for a topic."""

from __future__ import annotations

from windrow.connectors.kafka.sink import ExactSink, open_sink
from windrow.connectors.kafka.sink_settings import SinkSettings
from windrow.connectors.kafka.source import open_source
from windrow.connectors.kafka.source_failures import explain_failure
from windrow.connectors.runtime import SinkRequest

__all__ = ["explain_failure", "forget_after", "open_sink", "open_source", "what_stays"]


def forget_after(request: SinkRequest, batch_id: int) -> None:
    """Records cannot be taken back. The batches after this one are to be written again, so they must not count as written."""
    settings = SinkSettings.of(request.options)
    if settings.is_exact:
        ExactSink(settings, request).rewind(batch_id)


def what_stays(request: SinkRequest) -> str:
    topic = SinkSettings.of(request.options).topic
    return f"records of topic {topic} cannot be taken back: what it holds of later batches stays, and they will be written once more"
