"""Messages of a shop in Protobuf, made without a compiler: their descriptors, and records of them."""

from __future__ import annotations

import struct
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP

F = FieldDescriptorProto
TIMES = FileDescriptorProto()
TIMESTAMP.CopyToProto(TIMES)


def field(message: DescriptorProto, name: str, number: int, kind: int, **more: Any) -> None:
    message.field.add(name=name, number=number, type=kind, label=more.pop("label", F.LABEL_OPTIONAL), **more)


def shop() -> FileDescriptorProto:
    """Side and Trade, which has a field of nearly every kind and a type of its own inside."""
    file = FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3", dependency=["google/protobuf/timestamp.proto"])
    side = file.enum_type.add(name="Side")
    for number, name in enumerate(("NONE", "BUY", "SELL")):
        side.value.add(name=name, number=number)
    file.message_type.add(name="Other")
    trade = file.message_type.add(name="Trade")
    field(trade, "symbol", 1, F.TYPE_STRING)
    field(trade, "price", 2, F.TYPE_DOUBLE)
    field(trade, "volume", 3, F.TYPE_INT64)
    trade.oneof_decl.add(name="_note")
    field(trade, "note", 4, F.TYPE_STRING, proto3_optional=True, oneof_index=0)
    field(trade, "side", 5, F.TYPE_ENUM, type_name=".shop.Side")
    field(trade, "at", 6, F.TYPE_MESSAGE, type_name=".google.protobuf.Timestamp")
    field(trade, "tags", 7, F.TYPE_STRING, label=F.LABEL_REPEATED)
    leg = trade.nested_type.add(name="Leg")
    field(leg, "venue", 1, F.TYPE_STRING)
    field(leg, "raw", 2, F.TYPE_BYTES)
    field(trade, "legs", 8, F.TYPE_MESSAGE, type_name=".shop.Trade.Leg", label=F.LABEL_REPEATED)
    entry = trade.nested_type.add(name="SharesEntry")
    entry.options.map_entry = True
    field(entry, "key", 1, F.TYPE_INT32)
    field(entry, "value", 2, F.TYPE_FLOAT)
    field(trade, "shares", 9, F.TYPE_MESSAGE, type_name=".shop.Trade.SharesEntry", label=F.LABEL_REPEATED)
    return file


def classes(*files: FileDescriptorProto) -> DescriptorPool:
    pool = DescriptorPool()
    for file in (TIMES, *files):
        pool.Add(file)
    return pool


def written(name: str = "shop.Trade", **values: Any) -> bytes:
    message = GetMessageClass(classes(shop()).FindMessageTypeByName(name))()
    for key, value in values.items():
        match key, value:
            case "at", str():
                message.at.FromJsonString(value)
            case "legs", _:
                for one in value:
                    message.legs.add(**one)
            case "shares", _:
                message.shares.update(value)
            case _, list():
                getattr(message, key).extend(value)
            case _:
                setattr(message, key, value)
    data: bytes = message.SerializeToString()
    return data


FULL = written(
    symbol="a", price=1.5, volume=2**53 + 1, note="", side=2, at="2026-01-05T10:00:00.123456789Z", tags=["x", "y"],
    legs=[{"venue": "v", "raw": b"x"}], shares={7: 0.5},
)  # fmt: skip


def named(number: int, places: bytes, value: bytes) -> bytes:
    return struct.pack(">bI", 0, number) + places + value
