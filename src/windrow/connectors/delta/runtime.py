"""What the Delta Lake connector does."""

from __future__ import annotations

from windrow.connectors.delta.store import DeltaStore
from windrow.connectors.lake.runtime import LakeConnector


class DeltaConnector(LakeConnector):
    def __init__(self) -> None:
        super().__init__(DeltaStore)
