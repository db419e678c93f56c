"""The small language of ``fields.<column>``: what a generated column holds. No Spark here, so that checks can use it.

::

    field        := distribution [ "null" share ]
    distribution := sequence | sequence(start, step) | uniform(low, high) | normal(mean, sd) | choice(a, b:3, 'c d')
                  | constant(x) | walk(start, step [, key column]) | event_time | event_time(unit) | uuid | pattern('user-####')
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal as Number
from decimal import InvalidOperation

from windrow.connectors.generator.values import holds, integer_bounds
from windrow.model.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ColumnDef,
    DataType,
    Decimal,
    Struct,
    is_numeric,
)

EVENT_TIME_UNITS = ("seconds", "millis", "micros", "nanos", "iso8601")
PREFIX = "fields."
# A BIGINT of such a name is taken for the event time where no column is a TIMESTAMP and nothing else is stated.
_TIME_NAMES = ("ts", "_ts", "event_time", "timestamp")


@dataclass(frozen=True)
class Sequence:
    start: Number
    step: Number


@dataclass(frozen=True)
class Uniform:
    """From ``low`` to ``high``, both included where the column holds integers."""

    low: Number
    high: Number


@dataclass(frozen=True)
class Normal:
    mean: Number
    sd: Number


@dataclass(frozen=True)
class Choice:
    values: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Constant:
    value: str


@dataclass(frozen=True)
class Walk:
    """Wanders around ``start``, changing by about ``step`` a row; one path per value of ``key``."""

    start: Number
    step: Number
    key: str | None


@dataclass(frozen=True)
class EventTime:
    """The row's event time; ``unit`` None means what fits the column's type."""

    unit: str | None


@dataclass(frozen=True)
class Uuid:
    pass


@dataclass(frozen=True)
class Pattern:
    """``#`` is a digit, ``?`` a small letter, ``^`` a capital one, a backslash takes the next character as it is."""

    text: str


Distribution = Sequence | Uniform | Normal | Choice | Constant | Walk | EventTime | Uuid | Pattern
NAMES = ("sequence", "uniform", "normal", "choice", "constant", "walk", "event_time", "uuid", "pattern")


@dataclass(frozen=True)
class Field:
    distribution: Distribution
    null_share: float = 0.0


_FIELD = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s*(?:\bnull\s+(\S+))?\s*", re.IGNORECASE | re.DOTALL)
_ARGUMENT = re.compile(r"\s*(?:'((?:[^']|'')*)'|\"((?:[^\"]|\"\")*)\"|([^,'\"]*?))\s*(?::\s*([0-9.]+)\s*)?(?:,|$)")


def parse_field(text: str) -> Field:
    """A field as written; ValueError says what is wrong with it.

    >>> parse_field("choice(a:3, 'b c') null 0.1")
    Field(distribution=Choice(values=('a', 'b c'), weights=(3.0, 1.0)), null_share=0.1)
    """
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ValueError(f"cannot read {text!r}: write it like uniform(1, 100) or choice(a, b) null 0.1")
    name = match[1].lower()
    if name not in NAMES:
        close = difflib.get_close_matches(name, NAMES, n=1)
        guess = f'did you mean "{close[0]}"?' if close else f"there are: {', '.join(NAMES)}"
        raise ValueError(f'unknown distribution "{match[1]}"; {guess}')
    arguments = _arguments(match[2]) if match[2] is not None else []
    share = 0.0 if match[3] is None else float(_number(match[3]))
    if not 0 <= share <= 1:
        raise ValueError(f"null {match[3]} is not a share from 0 to 1")
    return Field(_distribution(name, arguments), share)


def _arguments(text: str) -> list[tuple[str, float]]:
    """Arguments with their weights (1 where none is written)."""
    found: list[tuple[str, float]] = []
    position = 0
    while text.strip():
        match = _ARGUMENT.match(text, position)
        if match is None:
            raise ValueError(f"cannot read the arguments ({text})")
        single, double, bare, weight = match.groups()
        if bare == "":
            raise ValueError(f"an argument is missing in ({text})")
        value = single.replace("''", "'") if single is not None else double.replace('""', '"') if double is not None else bare
        found.append((value, 1.0 if weight is None else float(_number(weight))))
        position = match.end()
        if not match[0].endswith(","):
            break
    return found


def _distribution(name: str, arguments: list[tuple[str, float]]) -> Distribution:
    values = [value for value, _ in arguments]
    if name == "choice":
        if not values:
            raise ValueError("choice needs at least one value: choice(a, b)")
        weights = tuple(weight for _, weight in arguments)
        if sum(weights) <= 0:
            raise ValueError("the weights of choice add up to nothing")
        return Choice(tuple(values), weights)
    least, most, shape = _SHAPES[name]
    if not least <= len(values) <= most:
        raise ValueError(f"{name} is written {shape}")
    return _plain_distribution(name, values)


_SHAPES = {
    "sequence": (0, 2, "sequence or sequence(start, step)"),
    "uniform": (2, 2, "uniform(low, high)"),
    "normal": (2, 2, "normal(mean, sd)"),
    "constant": (1, 1, "constant(x)"),
    "walk": (2, 3, "walk(start, step) or walk(start, step, key_column)"),
    "event_time": (0, 1, "event_time or event_time(millis)"),
    "uuid": (0, 0, "uuid"),
    "pattern": (1, 1, "pattern('user-####')"),
}


def _plain_distribution(name: str, values: list[str]) -> Distribution:
    match name:
        case "sequence":
            start, step = (*(_number(value) for value in values), *(Number(0), Number(1))[len(values) :])
            return Sequence(start, step)
        case "uniform":
            low, high = map(_number, values)
            if low > high:
                raise ValueError(f"uniform({low}, {high}) runs backwards: write uniform({high}, {low})")
            return Uniform(low, high)
        case "normal":
            mean, sd = map(_number, values)
            if sd < 0:
                raise ValueError("the standard deviation cannot be less than 0")
            return Normal(mean, sd)
        case "constant":
            return Constant(values[0])
        case "walk":
            return Walk(_number(values[0]), _number(values[1]), values[2] if len(values) > 2 else None)
        case "event_time":
            if values and values[0].lower() not in EVENT_TIME_UNITS:
                raise ValueError(f"event_time({values[0]}): the units are {', '.join(EVENT_TIME_UNITS)}")
            return EventTime(values[0].lower() if values else None)
        case "uuid":
            return Uuid()
        case _:
            return Pattern(values[0])


def _number(text: str) -> Number:
    try:
        number = Number(text.strip())
    except InvalidOperation:
        raise ValueError(f'"{text.strip()}" is not a number') from None
    if not number.is_finite():
        raise ValueError(f'"{text.strip()}" is not a number')
    return number


def validate_fields(columns: tuple[ColumnDef, ...], options: Mapping[str, str]) -> list[tuple[str, str]]:
    """Everything that is wrong with the ``fields.`` options of a generator stream, as (option key, message)."""
    findings: list[tuple[str, str]] = []
    known = _leaves(columns)
    for key, text in options.items():
        if not key.lower().startswith(PREFIX):
            continue
        name = key[len(PREFIX) :].lower()
        column = known.get(name)
        if column is None:
            close = difflib.get_close_matches(name, known, n=1)
            guess = f'did you mean "{known[close[0]].name}"? ' if close else ""
            findings.append((key, f'there is no column "{name}"; {guess}columns: {", ".join(leaf.name for leaf in known.values())}'))
            continue
        try:
            message = _misfit(parse_field(text), column, known)
        except ValueError as error:
            message = str(error)
        if message:
            findings.append((key, message))
    return findings


def fields_for(columns: tuple[ColumnDef, ...], options: Mapping[str, str]) -> dict[str, Field]:
    """What every column (and every field of a STRUCT, as ``a.b``) holds, by lower-case name; call after ``validate_fields``."""
    written = {key[len(PREFIX) :].lower(): text for key, text in options.items() if key.lower().startswith(PREFIX)}
    time_column = _time_column(columns, options)
    return {
        name: parse_field(written[name]) if name in written else default_field(column, is_time=name == time_column)
        for name, column in _leaves(columns).items()
    }


def default_field(column: ColumnDef, *, is_time: bool = False) -> Field:
    """What a column holds that nobody described."""
    name, type_ = column.name.rsplit(".", 1)[-1], column.type
    if is_time or type_ in (TIMESTAMP, TIMESTAMP_NTZ, DATE):
        return Field(EventTime(None))
    if type_ == BOOLEAN:
        return Field(Choice(("true", "false"), (1.0, 1.0)))
    if type_ in (INT, BIGINT) and name.lower() == "id":
        return Field(Sequence(Number(0), Number(1)))
    if type_ in INTEGERS:
        return Field(Uniform(Number(1), Number(100)))
    if isinstance(type_, Decimal):
        return Field(Uniform(Number(0), min(Number(100), Number(10) ** (type_.precision - type_.scale) - 1)))
    if is_numeric(type_):
        return Field(Uniform(Number(0), Number(100)))
    return Field(Pattern(re.sub(r"([#?^\\])", r"\\\1", name) + "-#"))


def _leaves(columns: tuple[ColumnDef, ...], prefix: str = "") -> dict[str, ColumnDef]:
    """Columns by lower-case name, those of structs by dotted path instead of the struct itself."""
    found: dict[str, ColumnDef] = {}
    for column in columns:
        path = prefix + column.name
        if isinstance(column.type, Struct):
            found |= _leaves(tuple(ColumnDef(name, type_) for name, type_ in column.type.fields), f"{path}.")
        else:
            found[path.lower()] = ColumnDef(path, column.type, column.nullable)
    return found


def _time_column(columns: tuple[ColumnDef, ...], options: Mapping[str, str]) -> str | None:
    stated = options.get("event.time.field")
    if stated is not None:
        return stated.lower()
    if any(column.type in (TIMESTAMP, TIMESTAMP_NTZ) for column in columns):
        return None
    named = [column.name.lower() for column in columns if column.type == BIGINT and column.name.lower() in _TIME_NAMES]
    return named[0] if named else None


def _misfit(field: Field, column: ColumnDef, known: Mapping[str, ColumnDef]) -> str | None:
    """Why a column cannot hold what the field says, or None."""
    if field.null_share > 0 and not column.nullable:
        return f"{column.name} is NOT NULL, so it cannot have a share of NULLs"
    type_ = column.type
    match field.distribution:
        case Choice(values=values):
            return next((_cannot_hold(column, value) for value in values if not holds(type_, value)), None)
        case Constant(value=value):
            return None if holds(type_, value) else _cannot_hold(column, value)
        case Uuid() | Pattern():
            return None if type_ == STRING else f"gives text, but {column.name} is {type_}"
        case EventTime(unit=unit):
            return _event_time_misfit(column, unit)
        case Walk(key=key) if key is not None:
            other = known.get(key.lower())
            if other is None:
                return f'there is no column "{key}" to walk by; columns: {", ".join(leaf.name for leaf in known.values())}'
            return "cannot walk by itself" if other is column else _number_misfit(field.distribution, column)
        case numeric:
            return _number_misfit(numeric, column)


def _cannot_hold(column: ColumnDef, value: str) -> str:
    return f'"{value}" is no value of {column.name}, which is {column.type}'


def _event_time_misfit(column: ColumnDef, unit: str | None) -> str | None:
    type_ = column.type
    if type_ in (TIMESTAMP, TIMESTAMP_NTZ, DATE):
        return None if unit in (None, "iso8601") else f"{column.name} is {type_}: write event_time without a unit"
    if type_ in (BIGINT, STRING, DOUBLE, INT) or isinstance(type_, Decimal):
        if unit == "iso8601" and type_ != STRING:
            return f"{column.name} is {type_} and cannot hold ISO 8601 text"
        return f"{column.name} is INT, which holds seconds only" if type_ == INT and unit not in (None, "seconds") else None
    return f"{column.name} is {type_}, which cannot hold a time"


def _number_misfit(distribution: Distribution, column: ColumnDef) -> str | None:
    type_ = column.type
    is_text = type_ == STRING and isinstance(distribution, Sequence)
    if not is_numeric(type_) and not is_text:
        return f"gives numbers, but {column.name} is {type_}"
    if isinstance(distribution, Sequence) and (type_ in INTEGERS or is_text):
        whole = [distribution.start, distribution.step]
    elif isinstance(distribution, Uniform) and type_ in INTEGERS:
        whole = [distribution.low, distribution.high]
    else:
        return None
    if any(number != number.to_integral_value() for number in whole):
        return f"{column.name} is {type_}: its bounds must be whole numbers"
    low, high = integer_bounds(type_)
    if any(not low <= number <= high for number in whole) or whole[1] - whole[0] >= 2**63 - 1:
        return f"{column.name} is {type_}, which holds {low} to {high}"
    return None


def type_of(name: str, columns: tuple[ColumnDef, ...]) -> DataType:
    """The type of a column or struct field by its lower-case path."""
    return _leaves(columns)[name].type
