"""Protobuf records: each is read by the schema and the message that it names; one that lies is a dead letter with its bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.protobuf_shop import FULL, TIMES, named, shop
from tests.integration.registry import USER, ProtobufSchema, registry
from tests.integration.topics import Record, Runner, only, options, send

COLUMNS = (
    "(symbol STRING NOT NULL, price DOUBLE, volume BIGINT, note STRING, side STRING, at TIMESTAMP, tags ARRAY<STRING>,"
    " legs ARRAY<STRUCT<venue: STRING, raw: BINARY>>, shares MAP<STRING, FLOAT>)"
)
ITEMS = "symbol, price, volume, note, side, at, tags, legs[0].venue AS venue, shares['7'] AS share"
OUT = f"CREATE STREAM out AS SELECT {ITEMS}, _offset AS o FROM s WITH ('connector' = 'memory');"
AT = datetime(2026, 1, 5, 10, 0, 0, 123456, tzinfo=UTC)
ROW = ("a", 1.5, 2**53 + 1, "", "SELL", AT, ["x", "y"], "v", 0.5)


def test_records_of_a_registry_and_of_a_descriptor(broker: Broker, spark: SparkSession, tmp_path: Path) -> None:
    topic = broker.topic(partitions=1)
    good = named(4, bytes([2, 2]), FULL)
    bad = [named(9, b"\0", FULL), named(4, bytes([2, 40]), FULL), b"garbage", good[:-1], None]
    send(broker, topic, [Record(good), *map(Record, bad), Record(named(4, bytes([2, 2]), b""))])
    run = Runner(spark, tmp_path)
    with registry({4: ProtobufSchema(shop().SerializeToString())}) as url:
        more = {"schema__registry__url": url, "schema__registry__basic__auth__user__info": USER}
        found = run.rows(f"CREATE STREAM s {COLUMNS} WITH ({options(broker, topic, format='protobuf', **more)}); {OUT}")
    names = ("symbol", "price", "volume", "note", "side", "at", "tags", "venue", "share")
    assert only(found, *names) == [ROW, ("", 0.0, 0, None, "NONE", None, [], None, None)]
    assert sorted(only(run.dead_letters(), "offset", "raw")) == [(1 + number, value) for number, value in enumerate(bad)]

    other = broker.topic(partitions=1)
    send(broker, other, [Record(FULL), Record(FULL[:-1])])
    (tmp_path / "shop.desc").write_bytes(FileDescriptorSet(file=[TIMES, shop()]).SerializeToString())
    more = {"protobuf__descriptor__file": str(tmp_path / "shop.desc"), "protobuf__message": "shop.Trade"}
    run = Runner(spark, tmp_path / "second")
    found = run.rows(f"CREATE STREAM s {COLUMNS} WITH ({options(broker, other, format='protobuf', **more)}); {OUT}")
    assert only(found, *names) == [ROW]
    assert only(run.dead_letters(), "raw") == [(FULL[:-1],)]
