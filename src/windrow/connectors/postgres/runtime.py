"""Where the engine finds this connector's sides."""

from __future__ import annotations

from windrow.connectors.postgres.restoring import forget_after
from windrow.connectors.postgres.sink import open_sink
from windrow.connectors.postgres.source import open_source

__all__ = ["forget_after", "open_sink", "open_source"]
