"""Protobuf values as JSON: by a descriptor of a file, and by the number of a schema in a registry."""

from __future__ import annotations

import json

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message_factory import GetMessageClass

from tests.integration.protobuf_shop import FULL, TIMES, F, classes, field, named, shop, written
from tests.integration.registry import USER, ProtobufSchema, registry
from windrow.connectors.kafka.protobuf import check_messages, reader_of
from windrow.connectors.kafka.source_settings import ProtobufSettings
from windrow.errors import JobError, UsageError


def test_every_kind_of_field() -> None:
    descriptor = FileDescriptorSet(file=[TIMES, shop()]).SerializeToString()
    settings = ProtobufSettings(descriptor, "shop.Trade", ())
    check_messages(settings, ())
    read = reader_of(settings)
    told = read(FULL)
    assert told is not None
    assert '"volume":9007199254740993' in told
    assert json.loads(told) == {
        "symbol": "a",
        "price": 1.5,
        "volume": 2**53 + 1,
        "note": "",
        "side": "SELL",
        "at": "2026-01-05T10:00:00.123456789Z",
        "tags": ["x", "y"],
        "legs": [{"venue": "v", "raw": "eA=="}],
        "shares": {"7": 0.5},
    }
    unset = json.loads(read(b"") or "")
    assert (unset["symbol"], unset["volume"], unset["side"], unset["note"], unset["at"], unset["tags"]) == ("", 0, "NONE", None, None, [])
    assert json.loads(read(written(side=9)) or "")["side"] == 9
    # Fields that only newer writers have are left out; bytes that are no message are no row.
    assert json.loads(read(FULL + bytes([0x98, 6, 1])) or "") == json.loads(told)
    assert [read(value) for value in (FULL[:-1], b'{"symbol": "a"}', b"\xff")] == [None] * 3


@pytest.mark.parametrize(
    ("descriptor", "message", "said"),
    [
        (b"garbage", "shop.Trade", "makes no sense"),
        (b"", "shop.Trade", "it has no files"),
        (FileDescriptorSet(file=[shop()]).SerializeToString(), "shop.Trad", "has no message shop.Trad"),
    ],
)
def test_a_descriptor_that_cannot_be_used_is_told(descriptor: bytes, message: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_messages(ProtobufSettings(descriptor, message, ()), ())
    assert caught.value.code == "WR869"
    assert said in caught.value.message


def test_a_record_names_its_schema_and_which_message_it_is() -> None:
    with registry({4: ProtobufSchema(shop().SerializeToString()), 5: {"type": "string"}}) as url:
        settings = ProtobufSettings(None, "", (("url", url), ("basic.auth.user.info", USER)))
        check_messages(settings, ("trades",))
        read = reader_of(settings)
        assert json.loads(read(named(4, bytes([2, 2]), FULL)) or "")["symbol"] == "a"
        assert read(named(4, b"\0", b"")) == "{}"
        # The second message, and of it the first type inside.
        assert json.loads(read(named(4, bytes([4, 2, 0]), b"")) or "") == {"venue": "", "raw": ""}
        wrong = [named(4, bytes([2, 40]), FULL), named(4, b"", b""), named(4, bytes([1]), b""), named(5, b"\0", FULL)]
        wrong += [named(9, b"\0", FULL), FULL, b"\0\0", named(4, bytes([2, 2]), FULL[:-1]), named(4, b"\xff" * 12, b"")]
        assert [read(value) for value in wrong] == [None] * len(wrong)


def test_a_schema_that_imports_another_one() -> None:
    desk = FileDescriptorProto(name="desk.proto", package="desk", syntax="proto3", dependency=["shop.proto"])
    order = desk.message_type.add(name="Order")
    field(order, "trade", 1, F.TYPE_MESSAGE, type_name=".shop.Trade")
    schemas = {
        1: ProtobufSchema(shop().SerializeToString(), subject="shop-value"),
        2: ProtobufSchema(desk.SerializeToString(), {"shop.proto": "shop-value"}),
        3: ProtobufSchema(desk.SerializeToString(), {"shop.proto": "nobody-has-it"}),
    }
    message = GetMessageClass(classes(shop(), desk).FindMessageTypeByName("desk.Order"))()
    message.trade.symbol = "b"
    with registry(schemas) as url:
        read = reader_of(ProtobufSettings(None, "", (("url", url), ("basic.auth.user.info", USER))))
        assert json.loads(read(named(2, b"\0", message.SerializeToString())) or "")["trade"]["symbol"] == "b"
        assert read(named(3, b"\0", message.SerializeToString())) is None


def test_a_registry_that_refuses_stops_the_job() -> None:
    with registry({}, fails_on_schemas=True) as url:
        read = reader_of(ProtobufSettings(None, "", (("url", url), ("basic.auth.user.info", USER))))
        with pytest.raises(JobError, match=r"\[WR869\] could not look up schema 1"):
            read(named(1, b"\0", b""))
