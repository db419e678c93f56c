"""Columns of a row as Catalyst expressions over its index: every value is a hash of the seed, the column and the index."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal as Number
from typing import TYPE_CHECKING, assert_never

from pyspark.sql import functions as F

from windrow.connectors.encoding import SPARK_JSON, SPARK_TIMES
from windrow.connectors.generator.fields import (
    Choice,
    Constant,
    Distribution,
    EventTime,
    Field,
    Normal,
    Pattern,
    Sequence,
    Uniform,
    Uuid,
    Walk,
    default_field,
)
from windrow.connectors.generator.settings import Settings
from windrow.model.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    FRACTIONS,
    INTEGERS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    Array,
    ColumnDef,
    DataType,
    Decimal,
    Map,
    Struct,
)
from windrow.model.window import DAY, MILLI, SECOND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# A walk is a sum of waves: short ones small, long ones large, as in a random walk. Incommensurable, so that it does not repeat.
_PERIODS = (11.3, 47.9, 211.7, 1009.1, 5003.3)
_SWINGS = tuple(math.sqrt(period) for period in _PERIODS)
_STEP = math.sqrt(sum((swing * 2 * math.pi / period) ** 2 / 2 for swing, period in zip(_SWINGS, _PERIODS, strict=True)))


class RowMaker:
    """Makes the columns of a stream from the column ``index``."""

    def __init__(self, settings: Settings, columns: tuple[ColumnDef, ...], fields: Mapping[str, Field], index: Column) -> None:
        self._settings = settings
        self._columns = columns
        self._fields = fields
        self._index = index
        self.event_micros = self._event_micros()

    def rows(self, indices: DataFrame) -> DataFrame:
        """The indices and, as ``raw``, their rows as JSON text, or as something that is not JSON for the share of bad rows.

        What is used more than once is a projection of its own: Spark would write it out again for every use, and a row of
        a few walks and bad rows then took three times as long.
        """
        paths = {f"__path_{name}": self._path_hash(name, key) for name, key in self._keyed_walks()}
        keyed = indices.select("index", *(hashed.alias(name) for name, hashed in paths.items()))
        named = [self.value(column.name, column.type).alias(column.name) for column in self._columns]
        written = keyed.select("index", F.to_json(F.struct(*named), dict(SPARK_JSON)).alias("raw"))
        if self._settings.bad_share == 0:
            return written
        return written.select("index", self._some_broken(F.col("raw")).alias("raw"))

    def _some_broken(self, text: Column) -> Column:
        # One half is cut in the middle, the other was never JSON.
        torn = F.substring(text, F.lit(1), F.call_function("div", F.length(text), F.lit(2)).cast("int"))
        broken = F.when(self._hash("bad kind") >= 0, torn).otherwise(F.concat(F.lit("not json: row "), self._index.cast("string")))
        return F.when(self._chance("bad") < self._settings.bad_share, broken).otherwise(text)

    def value(self, path: str, type_: DataType) -> Column:
        """What the column or struct field at a path holds in this row."""
        if isinstance(type_, Struct):
            return F.struct(*(self.value(f"{path}.{name}", inner).alias(name) for name, inner in type_.fields))
        field = self._fields.get(path.lower())
        if field is None or (isinstance(type_, Array | Map) and not isinstance(field.distribution, Choice | Constant)):
            return self._made_up(path, type_)
        value = self._distributed(field.distribution, path, type_)
        if field.null_share > 0:
            value = F.when(self._chance(path, "null") >= field.null_share, value)
        return value

    def _made_up(self, path: str, type_: DataType) -> Column:
        """Values of types that no distribution describes: three elements, two entries, a few bytes."""
        if isinstance(type_, Array):
            return F.array(*(self.value(f"{path}[{place}]", type_.element) for place in range(3)))
        if isinstance(type_, Map):
            entries = [F.lit(key).cast(str(type_.key)) for key in ("1", "2")]
            values = [self.value(f"{path}[{place}]", type_.value) for place in range(2)]
            return F.create_map(entries[0], values[0], entries[1], values[1])
        if type_ == BINARY:
            return F.unhex(F.hex(self._hash(path)))
        field = default_field(ColumnDef(path, type_))
        return self._distributed(field.distribution, path, type_)

    def _distributed(self, distribution: Distribution, path: str, type_: DataType) -> Column:
        match distribution:
            case Sequence(start=start, step=step):
                exact = F.lit(int(start)) + self._index * F.lit(int(step)) if _is_whole(type_) else None
                return _as(F.lit(float(start)) + self._index * F.lit(float(step)) if exact is None else exact, type_)
            case Uniform(low=low, high=high):
                return self._uniform(path, type_, low, high)
            case Normal(mean=mean, sd=sd):
                radius = F.sqrt(F.lit(-2.0) * F.log(F.lit(1.0) - self._chance(path)))
                angle = F.cos(F.lit(2 * math.pi) * self._chance(path, "angle"))
                return _rounded(F.lit(float(mean)) + F.lit(float(sd)) * radius * angle, sd, type_)
            case Walk():
                return self._walk(distribution, path, type_)
            case Choice():
                return self._choice(distribution, path, type_)
            case Constant(value=value):
                return _literal(value, type_)
            case EventTime(unit=unit):
                return self._time(unit, type_)
            case Uuid():
                return self._uuid(path)
            case Pattern(text=text):
                return self._pattern(text, path)
            case _ as never:
                assert_never(never)

    def _uniform(self, path: str, type_: DataType, low: Number, high: Number) -> Column:
        if type_ in INTEGERS:
            return _as(F.lit(int(low)) + F.pmod(self._hash(path), F.lit(int(high) - int(low) + 1)), type_)
        spread = high - low
        return _rounded(F.lit(float(low)) + self._chance(path) * F.lit(float(spread)), spread, type_)

    def _walk(self, walk: Walk, path: str, type_: DataType) -> Column:
        hashed = self._path_hash(path, None) if walk.key is None else F.col(f"`__path_{path.lower()}`")
        waves = F.lit(0.0)
        for number, (period, swing) in enumerate(zip(_PERIODS, _SWINGS, strict=True)):
            # Twelve bits of the hash for each wave.
            phase = F.pmod(F.shiftrightunsigned(hashed, 12 * number), F.lit(4096)) / F.lit(4096.0)
            waves = waves + F.lit(swing) * F.sin(F.lit(2 * math.pi) * (self._index / F.lit(period) + phase))
        return _rounded(F.lit(float(walk.start)) + F.lit(float(walk.step) / _STEP) * waves, walk.step, type_)

    def _keyed_walks(self) -> list[tuple[str, str]]:
        """Columns that walk by another one, with that other one."""
        walks = [(name, field.distribution) for name, field in self._fields.items() if isinstance(field.distribution, Walk)]
        return [(name, walk.key) for name, walk in walks if walk.key is not None]

    def _path_hash(self, path: str, key: str | None) -> Column:
        """Which path a walk takes: one for the column, or one for each value of its key."""
        values = [] if key is None else [self._key_value(key)]
        return F.xxhash64(F.lit(self._settings.seed), F.lit(f"{path.lower()} path"), *values)

    def _key_value(self, name: str) -> Column:
        column = next(column for column in self._columns if column.name.lower() == name.lower().split(".")[0])
        type_: DataType = column.type
        for part in name.lower().split(".")[1:]:
            assert isinstance(type_, Struct)
            type_ = next(inner for inner_name, inner in type_.fields if inner_name.lower() == part)
        return self.value(name, type_)

    def _choice(self, choice: Choice, path: str, type_: DataType) -> Column:
        values = [_literal(value, type_) for value in choice.values]
        if len(set(choice.weights)) == 1:
            return F.element_at(F.array(*values), (F.pmod(self._hash(path), F.lit(len(values))) + 1).cast("int"))
        chance, total, below = self._chance(path), sum(choice.weights), 0.0
        picked = None
        for value, weight in zip(values[:-1], choice.weights[:-1], strict=True):
            below += weight / total
            picked = F.when(chance < below, value) if picked is None else picked.when(chance < below, value)
        assert picked is not None
        return picked.otherwise(values[-1])

    def _uuid(self, path: str) -> Column:
        text = F.concat(*(F.lpad(F.lower(F.hex(self._hash(path, half))), 16, "0") for half in ("high", "low")))
        digits = [F.substring(text, start, length) for start, length in ((1, 8), (9, 4), (14, 3), (18, 3), (21, 12))]
        variant = F.substring(F.lit("89ab"), (F.pmod(self._hash(path, "variant"), F.lit(4)) + 1).cast("int"), F.lit(1))
        dash = F.lit("-")
        return F.concat(digits[0], dash, digits[1], dash, F.lit("4"), digits[2], dash, variant, digits[3], dash, digits[4])

    def _pattern(self, text: str, path: str) -> Column:
        pieces = []
        for number, piece in enumerate(re.findall(r"\\.|#{1,18}|\?|\^|[^#?^\\]+|\\", text, re.DOTALL)):
            hashed = self._hash(path, f"piece {number}")
            if piece[0] == "#":
                pieces.append(F.lpad(F.pmod(hashed, F.lit(10 ** len(piece))).cast("string"), len(piece), "0"))
            elif piece in "?^":
                letters = _LETTERS if piece == "?" else _LETTERS.upper()
                pieces.append(F.substring(F.lit(letters), (F.pmod(hashed, F.lit(26)) + 1).cast("int"), F.lit(1)))
            else:
                pieces.append(F.lit(piece[1] if len(piece) == 2 and piece[0] == "\\" else piece))
        return F.concat(*pieces) if pieces else F.lit("")

    def _event_micros(self) -> Column:
        """Event time of the row: its place in the sequence, less its disorder, less or plus what makes it late or early."""
        settings = self._settings
        numerator, denominator = settings.interval.numerator, settings.interval.denominator
        steps = self._index * F.lit(numerator)
        micros = F.lit(settings.start) + (steps if denominator == 1 else F.call_function("div", steps, F.lit(denominator)))
        if settings.disorder > 0:
            micros = micros - F.pmod(self._hash("disorder"), F.lit(settings.disorder))
        if settings.late_share > 0:
            micros = micros - F.when(self._chance("late") < settings.late_share, F.lit(settings.late_by)).otherwise(F.lit(0))
        if settings.future_share > 0:
            micros = micros + F.when(self._chance("future") < settings.future_share, F.lit(settings.future_by)).otherwise(F.lit(0))
        return micros.cast("bigint")

    def _time(self, unit: str | None, type_: DataType) -> Column:
        micros = self.event_micros
        instant = F.timestamp_micros(micros)
        if type_ == TIMESTAMP:
            return instant
        if type_ == TIMESTAMP_NTZ:
            return F.to_timestamp_ntz(self._iso(instant, ""))
        if type_ == DATE:
            return F.date_from_unix_date(F.floor(micros / F.lit(DAY)).cast("int"))
        if type_ == STRING and unit in (None, "iso8601"):
            return self._iso(instant, "'Z'")
        scale = {"seconds": SECOND, "millis": MILLI, "micros": 1, "nanos": 1}.get(unit or _TIME_UNIT.get(str(type_), "millis"), MILLI)
        if unit == "nanos":
            return _as(micros * F.lit(1000), type_)
        # Seconds in a fraction keep their digits, whole numbers round down, also before 1970.
        number = micros / F.lit(scale) if type_ == DOUBLE or isinstance(type_, Decimal) else F.floor(micros / F.lit(scale))
        return _as(number if scale != 1 else micros, type_)

    @staticmethod
    def _iso(instant: Column, zone: str) -> Column:
        # date_format would speak the session's time zone; this writer can be told UTC.
        return F.to_csv(F.struct(instant), {**SPARK_TIMES, "timestampFormat": f"yyyy-MM-dd'T'HH:mm:ss.SSSSSS{zone}"})

    def _hash(self, *salt: str) -> Column:
        return F.xxhash64(F.lit(self._settings.seed), F.lit(" ".join(salt).lower()), self._index)

    def _chance(self, *salt: str) -> Column:
        """A number from 0 to 1, not 1 itself."""
        return _unit(self._hash(*salt))


_TIME_UNIT = {"INT": "seconds", "DOUBLE": "seconds"}


def _unit(hashed: Column) -> Column:
    return F.shiftrightunsigned(hashed, 11) * F.lit(2.0**-53)


def _is_whole(type_: DataType) -> bool:
    return type_ in INTEGERS or type_ == STRING


def _as(value: Column, type_: DataType) -> Column:
    return value if type_ == BIGINT else value.cast("double" if type_ == VARIANT else str(type_))


def _literal(text: str, type_: DataType) -> Column:
    if isinstance(type_, Array | Map):
        return F.from_json(F.lit(text), str(type_))
    if type_ == TIMESTAMP and not re.search(r"(Z|[+-]\d\d:?\d\d)$", text.strip()):
        text = f"{text.strip()}{'' if ':' in text else ' 00:00:00'}Z"
    return F.lit(text) if type_ in (STRING, VARIANT) else F.lit(text).cast(str(type_))


def _rounded(value: Column, spread: Number, type_: DataType) -> Column:
    """A fraction cut to about six digits of its spread: short to read, and the same on every processor."""
    if isinstance(type_, Decimal):
        return value.cast(str(type_))
    if type_ in INTEGERS:
        return _as(F.floor(value + F.lit(0.5)), type_)
    digits = 6 if spread == 0 else min(15, max(2, 6 - spread.adjusted()))
    scale = 10.0**digits
    rounded = F.floor(value * F.lit(scale) + F.lit(0.5)) / F.lit(scale)
    return rounded if type_ not in FRACTIONS else _as(rounded, type_)
