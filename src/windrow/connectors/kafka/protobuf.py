"""Protobuf values as JSON text, decoded as Avro is: by the schema that a record names, or by one for all.

A registry gives schemas as descriptors (``format=serialized``), so no compiler is needed. A field that is not set is NULL where the schema
can tell that (``optional``, messages, ``oneof``), else the default of its type.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from windrow.connectors.json_values import Literal, decoded_column, spell
from windrow.connectors.kafka.schema_registry import (
    HEAD,
    NO_SCHEMA,
    Registry,
    check_registry,
    fetch_schema,
    fetch_version,
    first_line,
    schema_number,
)
from windrow.connectors.kafka.source_settings import ProtobufSettings
from windrow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column

Make = Callable[[], Any]
_SERIALIZED = "serialized"
_TIME, _LENGTH = "google.protobuf.Timestamp", "google.protobuf.Duration"
_JSON = frozenset(f"google.protobuf.{name}" for name in ("Struct", "Value", "ListValue"))
_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value" for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)


def protobuf_as_json(value: Column, settings: ProtobufSettings) -> Column:
    """JSON text of a Protobuf value; NULL where it cannot be decoded."""
    return decoded_column(value, partial(reader_of, settings))


def check_messages(settings: ProtobufSettings, topics: tuple[str, ...]) -> None:
    """A descriptor that makes no sense, or a registry that nobody answers for, is found before any record is read."""
    if settings.descriptor is None:
        check_registry(settings.registry, topics)
    else:
        _message_of_file(settings.descriptor, settings.message)


@cache
def reader_of(settings: ProtobufSettings) -> Callable[[bytes], str | None]:
    """One a process: it remembers the schemas that it has seen."""
    if settings.descriptor is not None:
        make = _message_of_file(settings.descriptor, settings.message)
        return lambda value: _as_json(value, make)
    known: dict[int, _Schema | None] = {}

    def read(value: bytes) -> str | None:
        number = schema_number(value)
        if number is None:
            return None
        if number not in known:
            known[number] = _fetched(settings.registry, number)
        schema = known[number]
        found = None if schema is None else schema.message_of(value)
        return None if found is None else _as_json(value[found[1] :], found[0])

    return read


@dataclass(frozen=True)
class _Schema:
    """The message types of a file, as they stand there; a record says by places, outermost first, which of them it is."""

    types: list[Any]

    def message_of(self, value: bytes) -> tuple[Make, int] | None:
        """The type of a record, and where its bytes begin."""
        from google.protobuf.message_factory import GetMessageClass

        try:
            places, start = _places(value, HEAD.size)
            types, found = self.types, None
            for place in places:
                found = types[place]
                types = list(found.nested_types)
        except IndexError:
            return None
        return None if found is None else (GetMessageClass(found), start)


def _places(value: bytes, at: int) -> tuple[list[int], int]:
    """Confluent's list of places: how many, and each, as zigzag varints; a lone 0 stands for the first type."""
    count, at = _zigzag(value, at)
    if count == 0:
        return [0], at
    if not 0 < count <= len(value):
        raise IndexError
    places = []
    for _ in range(count):
        place, at = _zigzag(value, at)
        if place < 0:
            raise IndexError
        places.append(place)
    return places, at


def _zigzag(value: bytes, at: int) -> tuple[int, int]:
    """A number, and what comes behind it.

    >>> _zigzag(bytes([4]), 0), _zigzag(bytes([3]), 0), _zigzag(bytes([0x80, 2]), 0)
    ((2, 1), (-2, 1), (128, 2))
    """
    number = shift = 0
    while True:
        byte = value[at]
        number, shift, at = number | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return (number >> 1) ^ -(number & 1), at
        if shift > 63:
            raise IndexError


def _fetched(registry: Registry, number: int) -> _Schema | None:
    from google.protobuf.descriptor_pool import DescriptorPool

    found = fetch_schema(registry, number, "PROTOBUF", form=_SERIALIZED)
    if found is None:
        return None
    pool = DescriptorPool()
    try:
        names = _add(pool, registry, found, f"schema-{number}.proto")
        file = pool.FindFileByName(f"schema-{number}.proto")
        return _Schema([file.message_types_by_name[name] for name in names])
    except (ValueError, TypeError, KeyError):
        # Not a descriptor, or one of types that nobody has: no record of it can be read.
        return None


def _add(pool: Any, registry: Registry, schema: Any, name: str) -> list[str]:
    """A schema with all that it refers to, each by the name that it is imported by. Gives the names of its messages."""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    for reference in schema.references or ():
        if not _has(pool, reference.name):
            other = fetch_version(registry, reference.subject, reference.version, _SERIALIZED)
            if other is None:
                raise KeyError(reference.name)
            _add(pool, registry, other, reference.name)
    try:
        file = FileDescriptorProto.FromString(base64.b64decode(schema.schema_str))
    except DecodeError as error:
        raise ValueError(str(error)) from None
    file.name = name
    _add_files(pool, [*_well_known(file, pool), file])
    return [one.name for one in file.message_type]


def _has(pool: Any, name: str) -> bool:
    try:
        pool.FindFileByName(name)
    except KeyError:
        return False
    return True


def _well_known(file: Any, pool: Any) -> Iterator[Any]:
    """What comes with Protobuf itself: no registry has it."""
    from google.protobuf import any_pb2, descriptor_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2

    own = {one.DESCRIPTOR.name: one.DESCRIPTOR for one in (any_pb2, duration_pb2, empty_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)}
    for name in file.dependency:
        if name in own and not _has(pool, name):
            made = descriptor_pb2.FileDescriptorProto()
            own[name].CopyToProto(made)
            yield made


def _add_files(pool: Any, files: list[Any]) -> None:
    for file in files:
        if not _has(pool, file.name):
            pool.Add(file)


@cache
def _message_of_file(descriptor: bytes, name: str) -> Make:
    """The class of a message out of what ``protoc --descriptor_set_out`` wrote."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    try:
        files = FileDescriptorSet.FromString(descriptor).file
        if not files:
            raise ValueError("it has no files")
        for file in files:
            _add_files(pool, [*_well_known(file, pool), file])
        for file in files:
            pool.FindFileByName(file.name)
    except (DecodeError, ValueError, TypeError, KeyError) as error:
        hint = "protoc --include_imports --descriptor_set_out=trade.desc trade.proto"
        raise UsageError(NO_SCHEMA, f"the Protobuf descriptor makes no sense: {first_line(error)}", hint) from None
    try:
        found: Make = GetMessageClass(pool.FindMessageTypeByName(name))
    except KeyError:
        there = [f"{file.package}.{one.name}".lstrip(".") for file in files for one in file.message_type]
        hint = f"'protobuf.message' = '{there[0] if there else name}'; there are {', '.join(there)}"
        raise UsageError(NO_SCHEMA, f"the Protobuf descriptor has no message {name}", hint) from None
    return found


def _as_json(value: bytes, make: Make) -> str | None:
    from google.protobuf.message import DecodeError

    message = make()
    try:
        message.ParseFromString(value)
    except DecodeError:
        return None
    # Bytes of fields that the schema does not have are kept by Protobuf: newer writers send them.
    return spell(_fields(message))


def _fields(message: Any) -> dict[str, Any]:
    return {field.name: _field(message, field) for field in message.DESCRIPTOR.fields}


def _field(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        of = field.message_type.fields_by_name["value"]
        return {_key(key): _value(value[key], of) for key in value}
    if field.is_repeated:
        return [_value(each, field) for each in value]
    return None if field.has_presence and not message.HasField(field.name) else _value(value, field)


def _key(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _value(value: Any, field: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    if field.message_type is None:
        return value
    name = field.message_type.full_name
    if name == _TIME:
        return _time(value)
    if name == _LENGTH:
        return Literal(f"{value.seconds + value.nanos / 1e9:.9f}")
    if name in _WRAPPERS:
        return value.value
    if name in _JSON:
        from google.protobuf.json_format import MessageToDict

        return MessageToDict(value)
    return _fields(value)


def _time(value: Any) -> str:
    """ISO 8601 with nanoseconds; what lies beyond the years that have one as it is, which no TIMESTAMP takes."""
    try:
        return str(value.ToJsonString())
    except ValueError:
        return f"{value.seconds}s"
