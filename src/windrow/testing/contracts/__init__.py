"""Tests that every connector, aggregate and function must pass, for whoever writes one: subclass, fill in, run pytest.

They need a fixture ``spark``, a SparkSession. For example::

    class TestSqliteSink(SinkContract):
        connector = "sqlite"

        def options(self, folder):
            return {"path": f"{folder}/out.db", "table": "out"}

        def written(self, folder):
            return rows_of(f"{folder}/out.db")
"""

from windrow.testing.contracts.aggregates import AggregateContract
from windrow.testing.contracts.connectors import ConnectorContract
from windrow.testing.contracts.functions import FunctionContract
from windrow.testing.contracts.sinks import SharedSinkContract, SinkContract
from windrow.testing.contracts.sources import StreamSourceContract, TableSourceContract

__all__ = [
    "AggregateContract",
    "ConnectorContract",
    "FunctionContract",
    "SharedSinkContract",
    "SinkContract",
    "StreamSourceContract",
    "TableSourceContract",
]
