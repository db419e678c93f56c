"""What the Iceberg connector does."""

from __future__ import annotations

from windrow.connectors.iceberg.store import IcebergStore
from windrow.connectors.lake.runtime import LakeConnector


class IcebergConnector(LakeConnector):
    def __init__(self) -> None:
        super().__init__(IcebergStore)
