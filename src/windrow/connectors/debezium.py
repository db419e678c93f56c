"""Debezium's envelopes as JSON text of the row that changed, with ``_op`` beside its columns.

The text of a row is cut out of its envelope as it stands. Only where a schema (or a declared column) says that a value means something
else than it looks like, such as days since 1970, is the row spelled anew.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from windrow.connectors.changes import TIME_UNIT
from windrow.connectors.json_values import Literal, decoded_column, spell
from windrow.model.changes import BEFORE, CHANGED_AT, CREATED, DELETED, OP, SNAPSHOT, SOURCE, UPDATED
from windrow.model.types import DATE, TIMESTAMP, ColumnDef

if TYPE_CHECKING:
    from pyspark.sql import Column

Convert = Callable[[Any], Any]
_IMAGES = {CREATED: "after", SNAPSHOT: "after", UPDATED: "after", DELETED: "before"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY = date(1970, 1, 1)
# How many of a unit are a microsecond, or the other way round.
_TO_MICROS: dict[str, Callable[[int], int]] = {"ms": lambda n: n * 1000, "us": lambda n: n, "ns": lambda n: n // 1000}
# Milliseconds below the first are before the year 5138, microseconds below the second before 5138 as well.
_MOST_MILLIS, _MOST_MICROS = 10**14, 10**17
_BLANKS = " \t\r\n"
_BEGINS_WITH_SCHEMA = re.compile(r'\{[ \t\r\n]*"schema"[ \t\r\n]*:[ \t\r\n]*')
_MOST_KNOWN = 16


@dataclass(frozen=True)
class EnvelopeSettings:
    """``times`` and ``dates`` are columns in which numbers without a schema count since 1970; ``extras`` what else is asked for."""

    times: frozenset[str]
    dates: frozenset[str]
    extras: frozenset[str]
    unit: str = "auto"

    @classmethod
    def of(cls, columns: tuple[ColumnDef, ...], options: Mapping[str, str]) -> EnvelopeSettings:
        extras = frozenset(column.name.lower() for column in columns) & {BEFORE, SOURCE, CHANGED_AT}
        own = [column for column in columns if column.name.lower() not in (OP.name, BEFORE, SOURCE, CHANGED_AT)]
        return cls(
            frozenset(column.name for column in own if column.type == TIMESTAMP),
            frozenset(column.name for column in own if column.type == DATE),
            extras,
            options.get(TIME_UNIT.key, "auto").lower(),
        )


def envelope_as_json(value: Column, settings: EnvelopeSettings) -> Column:
    """JSON text of the row in an envelope; NULL where that is none."""
    return decoded_column(value.cast("binary"), partial(envelope_reader, settings))


@cache
def envelope_reader(settings: EnvelopeSettings) -> Callable[[bytes], str | None]:
    """One a process: it remembers the schema that it saw last."""
    envelopes = _Envelopes(settings)

    def read(value: bytes) -> str | None:
        try:
            return envelopes.row_of(value.decode("utf-8"))
        except (ValueError, TypeError, AttributeError, KeyError, ArithmeticError, RecursionError):
            # Whatever it is, it is no envelope. A schema that is none leads into all of these.
            return None

    return read


class _Envelopes:
    def __init__(self, settings: EnvelopeSettings) -> None:
        self._settings = settings
        self._plain = _declared(settings)
        # Envelopes of one table begin with the same schema, which is longer than all the rest: it is read once.
        self._known: list[_Beginning] = []

    def row_of(self, text: str) -> str:
        text = text.strip(_BLANKS)
        known = next((each for each in self._known if text.startswith(each.text)), None)
        envelope = _DECODER.decode(text if known is None else _without(text, known.text))
        if not isinstance(envelope, dict):
            raise TypeError("no object")
        if "payload" not in envelope:
            return self._row(text, envelope, {"before": self._plain, "after": self._plain})
        if known is None and isinstance(envelope.get("schema"), dict):
            known = self._learn(text, envelope["schema"])
        given = {"before": self._plain, "after": self._plain} if known is None else known.converters
        return self._row(text if known is None else text[len(known.text) :], envelope["payload"], given)

    def _row(self, text: str, parts: Mapping[str, Any], converters: Mapping[str, Convert | None]) -> str:
        op = parts["op"]
        image = _IMAGES[op]
        row = parts.get(image)
        if not isinstance(row, dict):
            raise TypeError(f"no {image}")
        extras = self._settings.extras
        also = [f'"{OP.name}":"{op}"']
        if BEFORE in extras and parts.get("before") is not None:
            also.append(f'"{BEFORE}":{_text(text, "before", parts["before"], converters.get("before"))}')
        if SOURCE in extras and parts.get("source") is not None:
            also.append(f'"{SOURCE}":{_text(text, "source", parts["source"], None)}')
        if CHANGED_AT in extras:
            also.append(f'"{CHANGED_AT}":{spell(_changed_at(parts))}')
        found = _text(text, image, row, converters.get(image))
        return f"{found[:-1]}{',' if row else ''}{','.join(also)}}}"

    def _learn(self, text: str, schema: Mapping[str, Any]) -> _Beginning:
        fields = [field for field in schema.get("fields", ()) if field.get("field") in ("before", "after")]
        converters = {field["field"]: _converter(field) for field in fields}
        begins = _BEGINS_WITH_SCHEMA.match(text)
        if begins is None:
            return _Beginning("", converters)
        made = _Beginning(text[: _DECODER.raw_decode(text, begins.end())[1]], converters)
        self._known = [made, *self._known[: _MOST_KNOWN - 1]]
        return made


@dataclass(frozen=True)
class _Beginning:
    """How an envelope begins: with a schema, by which its values are read."""

    text: str
    converters: Mapping[str, Convert | None]


def _without(text: str, beginning: str) -> str:
    """An object without its first members."""
    rest = text[len(beginning) :].lstrip(_BLANKS)
    return f"{{{rest[1:]}" if rest.startswith(",") else f"{{{rest}"


def _text(text: str, name: str, value: Any, convert: Convert | None) -> str:
    """A member as text: cut out where it stands as it is. Whatever text is read as this very value will do."""
    if convert is not None:
        return spell(convert(value))
    at = text.find(f'"{name}":')
    while at >= 0:
        start = at + len(name) + 3
        start += len(text[start : start + 8]) - len(text[start : start + 8].lstrip(_BLANKS))
        if text[start : start + 1] == "{":
            found, end = _DECODER.raw_decode(text, start)
            if found == value:
                return text[start:end]
        at = text.find(f'"{name}":', start)
    return spell(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_float=Literal, parse_constant=_no_constant)


def _changed_at(parts: Mapping[str, Any]) -> str | None:
    """When the database made the change; when Debezium saw it, where the database does not say."""
    for given in (parts.get("source"), parts):
        for key, unit in (("ts_us", "us"), ("ts_ms", "ms")):
            if isinstance(given, dict) and isinstance(given.get(key), int) and given[key]:
                return _instant(given[key], unit)
    return None


def _instant(number: int, unit: str) -> str:
    """ISO 8601. What no calendar has stays a number, which no column takes for a time."""
    if unit == "auto":
        size = abs(number)
        unit = "ms" if size < _MOST_MILLIS else "us" if size < _MOST_MICROS else "ns"
    try:
        return (_EPOCH + timedelta(microseconds=_TO_MICROS[unit](number))).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError:
        return f"{number} {unit}"


def _day(number: int) -> str:
    try:
        return (_FIRST_DAY + timedelta(days=number)).isoformat()
    except OverflowError:
        return f"{number} days"


def _clock(number: int, unit: str) -> str:
    seconds, micros = divmod(_TO_MICROS[unit](number), 1_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"


def _decimal(text: str, scale: int) -> Decimal:
    """Kafka Connect's: the digits as a whole number of bytes, of which the last ``scale`` stand behind the point.

    >>> _decimal("AQk=", 2)
    Decimal('2.65')
    """
    digits = int.from_bytes(base64.b64decode(text, validate=True), "big", signed=True)
    return Decimal(digits).scaleb(-scale) if abs(digits) < 10**28 else Decimal(f"{digits}E{-scale}")


def _declared(settings: EnvelopeSettings) -> Convert | None:
    """For rows without a schema: numbers where a time or a day is declared."""
    if not settings.times and not settings.dates:
        return None
    made: dict[str, Convert] = {
        **{name: partial(_instant, unit=settings.unit) for name in settings.times},
        **dict.fromkeys(settings.dates, _day),
    }
    return partial(_converted, {name: partial(_if_whole, convert) for name, convert in made.items()})


def _if_whole(convert: Convert, value: Any) -> Any:
    return convert(value) if isinstance(value, int) and not isinstance(value, bool) else value


_TIMES: dict[str, Convert] = {
    "io.debezium.time.Timestamp": partial(_instant, unit="ms"),
    "io.debezium.time.MicroTimestamp": partial(_instant, unit="us"),
    "io.debezium.time.NanoTimestamp": partial(_instant, unit="ns"),
    "org.apache.kafka.connect.data.Timestamp": partial(_instant, unit="ms"),
    "io.debezium.time.Date": _day,
    "org.apache.kafka.connect.data.Date": _day,
    "io.debezium.time.Time": partial(_clock, unit="ms"),
    "io.debezium.time.MicroTime": partial(_clock, unit="us"),
    "io.debezium.time.NanoTime": partial(_clock, unit="ns"),
    "org.apache.kafka.connect.data.Time": partial(_clock, unit="ms"),
}


def _converter(schema: Mapping[str, Any]) -> Convert | None:
    """What makes plain values of those of a schema of Kafka Connect; None where they are plain already."""
    name = schema.get("name")
    if name in _TIMES:
        return partial(_unless_null, _TIMES[name])
    if name == "org.apache.kafka.connect.data.Decimal":
        return partial(_unless_null, partial(_decimal, scale=int(schema.get("parameters", {}).get("scale", 0))))
    if name == "io.debezium.data.VariableScaleDecimal":
        return partial(_unless_null, lambda value: _decimal(value["value"], int(value["scale"])))
    match schema.get("type"):
        case "struct":
            inner = {field["field"]: made for field in schema.get("fields", ()) if (made := _converter(field)) is not None}
            return partial(_unless_null, partial(_converted, inner)) if inner else None
        case "array":
            items = _converter(schema.get("items") or {})
            return None if items is None else partial(_unless_null, lambda value: [items(each) for each in value])
        case "map":
            values = _converter(schema.get("values") or {})
            return None if values is None else partial(_unless_null, lambda value: {key: values(each) for key, each in value.items()})
        case _:
            return None


def _unless_null(convert: Convert, value: Any) -> Any:
    return None if value is None else convert(value)


def _converted(inner: Mapping[str, Convert], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: inner[name](value) if name in inner and value is not None else value for name, value in row.items()}
