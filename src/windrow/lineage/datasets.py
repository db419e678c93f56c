"""What is outside as datasets: by the names that connectors give to topics, tables and folders, files that share one are linked."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.registry import CONNECTORS
from windrow.lineage.graph import Dataset


def outside(connector: str, options: Mapping[str, str]) -> tuple[Dataset, ...]:
    """What a source or sink is of; nothing where no one else can name it. A source may read several topics."""
    places = CONNECTORS[connector].places_of(options)
    return tuple(Dataset(place.namespace, place.name, is_outside=True, is_pattern=place.is_pattern) for place in places)
