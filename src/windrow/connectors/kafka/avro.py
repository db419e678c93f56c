"""Avro values as JSON text, so that one decoder judges the fields of every format.

The executors do this in Python, batch by batch: schemas are looked up where records name them, and one that cannot be decoded is
that record's fault alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, partial
from io import BytesIO
from typing import TYPE_CHECKING, Any

from windrow.connectors.json_values import decoded_column, spell
from windrow.connectors.kafka.schema_registry import HEAD, NO_SCHEMA, check_registry, fetch_schema, first_line, schema_number
from windrow.connectors.kafka.source_settings import AvroSettings
from windrow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import Column

Schema = Any


def avro_as_json(value: Column, settings: AvroSettings) -> Column:
    """JSON text of an Avro value; NULL where it cannot be decoded."""
    return decoded_column(value, partial(reader_of, settings))


def check_schema(settings: AvroSettings, topics: tuple[str, ...]) -> None:
    """A schema that makes no sense, or a registry that nobody answers for, is found before any record is read."""
    if settings.schema is None:
        check_registry(settings.registry, topics)
        return
    try:
        _parse(settings.schema)
    except Exception as error:
        raise UsageError(NO_SCHEMA, f"the Avro schema makes no sense: {first_line(error)}", "see 'avro.schema.file'") from None


@cache
def reader_of(settings: AvroSettings) -> Callable[[bytes], str | None]:
    """One a process: it remembers the schemas that it has seen."""
    if settings.schema is not None:
        schema = _parse(settings.schema)
        return lambda value: _as_json(value, 0, schema)
    known: dict[int, Schema | None] = {}

    def read(value: bytes) -> str | None:
        number = schema_number(value)
        if number is None:
            return None
        if number not in known:
            found = fetch_schema(settings.registry, number, "AVRO")
            known[number] = None if found is None else _parse(found.schema_str)
        schema = known[number]
        return None if schema is None else _as_json(value, HEAD.size, schema)

    return read


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
