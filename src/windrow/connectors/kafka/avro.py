"""Avro values as JSON text, so that one decoder judges the fields of every format.

The executors do this in Python, batch by batch: schemas are looked up where records name them, and one that cannot be decoded is
that record's fault alone.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from functools import cache, partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from windrow.connectors.json_values import decoded_column, spell
from windrow.connectors.kafka.source_settings import AvroSettings
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import FailureClass, Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import Column

NO_SCHEMA = "WR869"
# Confluent's format: a zero, then the number of the schema in four bytes.
_HEAD = struct.Struct(">bI")
Schema = Any


def avro_as_json(value: Column, settings: AvroSettings) -> Column:
    """JSON text of an Avro value; NULL where it cannot be decoded."""
    return decoded_column(value, partial(reader_of, settings))


def check_schema(settings: AvroSettings, topics: tuple[str, ...]) -> None:
    """A schema that makes no sense, or a registry that nobody answers for, is found before any record is read."""
    if settings.schema is not None:
        try:
            _parse(settings.schema)
        except Exception as error:
            raise UsageError(NO_SCHEMA, f"the Avro schema makes no sense: {_first_line(error)}", "see 'avro.schema.file'") from None
        return
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    client = _client(settings.registry)

    def ask() -> None:
        try:
            client.get_latest_version(f"{topics[0]}-value" if topics else "-value")
        except SchemaRegistryError as error:
            # Subjects may have other names. That there is an answer is what is asked for.
            if error.http_status_code != 404:
                raise

    _guard(settings.registry, 30.0).call("ask for schemas", ask)


@cache
def reader_of(settings: AvroSettings) -> Callable[[bytes], str | None]:
    """One a process: it remembers the schemas that it has seen."""
    if settings.schema is not None:
        schema = _parse(settings.schema)
        return lambda value: _as_json(value, 0, schema)
    known: dict[int, Schema | None] = {}

    def read(value: bytes) -> str | None:
        if len(value) < _HEAD.size:
            return None
        magic, number = _HEAD.unpack_from(value)
        if magic != 0:
            return None
        if number not in known:
            known[number] = _fetch(settings.registry, number)
        schema = known[number]
        return None if schema is None else _as_json(value, _HEAD.size, schema)

    return read


def _fetch(registry: tuple[tuple[str, str], ...], number: int) -> Schema | None:
    """The schema of a number. None where the registry knows none, or none of Avro: the record is at fault, not the registry."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    client = _client(registry)

    def ask() -> str | None:
        try:
            found = client.get_schema(number)
        except SchemaRegistryError as error:
            if error.http_status_code == 404:
                return None
            raise
        return found.schema_str if found.schema_type == "AVRO" else None

    text = _guard(registry, 60.0).call(f"look up schema {number}", ask)
    return None if text is None else _parse(text)


@cache
def _client(registry: tuple[tuple[str, str], ...]) -> Any:
    from confluent_kafka.schema_registry import SchemaRegistryClient

    try:
        return SchemaRegistryClient({**dict(registry), "timeout": 10, "max.retries": 0})
    except ValueError as error:
        raise UsageError(NO_SCHEMA, f"the schema registry cannot be asked: {_first_line(error)}", _HINT) from None


_HINT = "check 'schema.registry.url' and 'schema.registry.basic.auth.user.info'"


def _guard(registry: tuple[tuple[str, str], ...], give_up_after: float) -> Guard:
    url = dict(registry)["url"]

    def explain(error: BaseException, what: str) -> WindrowError:
        return JobError(NO_SCHEMA, f"could not {what} at the schema registry {url}: {_first_line(error)}", _HINT)

    return Guard(f"schema registry {url}", _classify, explain, RetryRule(longest=5.0, give_up_after=give_up_after))


def _classify(error: BaseException) -> FailureClass:
    status = getattr(error, "http_status_code", None)
    if status is not None:
        return FailureClass.TRANSIENT if status >= 500 or status == 429 else FailureClass.PERMANENT
    return FailureClass.TRANSIENT


def _parse(text: str) -> Schema:
    from fastavro.schema import parse_schema

    return parse_schema(json.loads(text))


def _as_json(value: bytes, start: int, schema: Schema) -> str | None:
    from fastavro import schemaless_reader

    stream = BytesIO(value)
    stream.seek(start)
    try:
        read = schemaless_reader(stream, schema, None)
    except Exception:
        # The library raises whatever the bytes lead it into.
        return None
    # Bytes that are left over mean that another schema wrote them.
    return spell(read) if stream.tell() == len(value) else None


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
