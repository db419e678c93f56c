"""The streams and tables that the fixtures read."""

from __future__ import annotations

from windrow.catalog import Relation
from windrow.model.types import BIGINT, BOOLEAN, DOUBLE, STRING, TIMESTAMP, ColumnDef, Struct

_ADDRESS = Struct((("city", STRING), ("zip", STRING)))

_ALL = (
    Relation(
        "trades", "stream",
        (
            ColumnDef("symbol", STRING), ColumnDef("price", DOUBLE), ColumnDef("volume", BIGINT), ColumnDef("ts", TIMESTAMP),
            ColumnDef("flag", BOOLEAN),
        ),
    ),
    Relation("orders", "stream", (ColumnDef("id", BIGINT), ColumnDef("status", STRING))),
    Relation("a", "stream", (ColumnDef("k", STRING), ColumnDef("t", TIMESTAMP))),
    Relation("b", "stream", (ColumnDef("k", STRING), ColumnDef("t", TIMESTAMP))),
    Relation("names", "table", (ColumnDef("k", STRING), ColumnDef("name", STRING))),
    Relation("nested", "stream", (ColumnDef("payload", Struct((("name", STRING), ("address", _ADDRESS)))),)),
    Relation("open_stream", "stream", (), is_known=False),
)  # fmt: skip
RELATIONS = {relation.name: relation for relation in _ALL}
