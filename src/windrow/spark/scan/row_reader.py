"""A source's raw frame becomes rows: decoded, with system columns, event time and fate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from windrow.connectors.runtime import BAD, ORIGINAL, PROVENANCE, RAW, SEQ, TOPIC_NUMBER, SourceStream
from windrow.model.constraint import judging
from windrow.model.fate import Fate
from windrow.model.policies import FieldPolicy, MissingTime, RowPolicy
from windrow.model.types import VARIANT, Array, ColumnDef, Map, Struct
from windrow.plan.physical import SourceFacts
from windrow.plan.physical.scans import projected, text_type
from windrow.plan.physical.strategies import Scan
from windrow.plan.stages import Read
from windrow.spark.compile.constraints import fate_sql
from windrow.spark.compile.event_time import event_time_sql
from windrow.spark.compile.expressions import of_batch, quote, struct_type
from windrow.spark.query.runner import GIVEN, LazyRelation, RelationShape, SpeculativeRelation
from windrow.spark.row_columns import FATE, RAW_TEXT
from windrow.spark.scan.arrow_json import decoder_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CASE_TIME = "_ts"  # event time of a memory source's row, epoch milliseconds
_DECODED, _CORRUPT = "_decoded", "_corrupt"
_STRUCT, _BY_ARROW = "_struct", "_by_arrow"  # what Arrow decoded, and whether it did
# Nothing that Spark could know before: else it would decode a row once more for each condition that it tests early.
_ALWAYS = "monotonically_increasing_id() >= 0"
_REPLACED = "\ufffd"  # stands for what could not be read as a character
_SPACE = r"' \t\r\n'"  # around a JSON value
# Stands in the SELECT for the arrival time of a batch. No name of a user's has such a character.
_NOW = "\x00now\x00"
_OWN = ("_timestamp", "_event_time", SEQ, FATE, RAW_TEXT)


class RowReader:
    """What a source hands over becomes rows: one SELECT, written once and run on each batch.

    It runs after the hand-over because a micro-batch is handed over with every column computed for every row; what is only
    looked at in a few rows, such as where a row came from, costs nothing here.
    """

    def __init__(self, read: Read, stream: SourceStream, way: Scan, *, needs_order: bool = True) -> None:
        """``way`` is how the plan has the rows decoded."""
        read = without_pushdown(read, stream)
        self._way = way
        decoder = decoder_of(stream.frame.sparkSession, _fields(read), _CORRUPT) if way is Scan.ARROW_JSON else None
        self._sql = _rows_sql(read, stream, needs_order=needs_order, decoder=decoder)
        self._shape = RelationShape((*_kept_columns(read, stream), *_OWN))
        self._topics = stream.topics
        # What is left in the text of a row is taken from there when it is set aside.
        self._speculative = stream.speculative if read.projected_columns is None else None
        self._speculative_reader = (
            None if self._speculative is None else RowReader(read, self._speculative.stream, Scan.JSON_FILES, needs_order=needs_order)
        )

    def rows(self, given: DataFrame, now: int, picked: str = GIVEN) -> LazyRelation:
        """Declared columns, the row's system columns, ``_seq``, ``_fate`` and ``_raw_text``. ``now`` is when the batch arrived.

        ``picked`` is SQL of the source's own rows among those that are given.
        """
        is_whole = self._speculative is not None and picked == GIVEN
        sql = self._sql.replace(GIVEN, picked).replace(_NOW, str(now))
        return LazyRelation(
            given, sql, self._shape, self._topics, partial(self._speculative_rows, given, now) if is_whole else None, self._way
        )

    def _speculative_rows(self, given: DataFrame, now: int) -> SpeculativeRelation | None:
        assert self._speculative is not None
        assert self._speculative_reader is not None
        found = self._speculative.rows_of(given)
        return None if found is None else SpeculativeRelation(self._speculative_reader.rows(found.frame, now), found.holds, found.failed)


def read_all(read: Read, stream: SourceStream, now: int) -> DataFrame:
    """The rows of a frame that stands for itself: all of a table, or a batch that was made by hand.

    They are so few that it does not pay to start workers for them.
    """
    return RowReader(read, stream, Scan.COLUMNS if stream.format is None else Scan.SPARK_JSON).rows(stream.frame, now).frame


def _rows_sql(read: Read, stream: SourceStream, *, needs_order: bool, decoder: str | None) -> str:
    columns = [*stream.frame.columns, *stream.lazy_columns]
    given = _with(stream.task_local_columns, GIVEN)
    if stream.format is not None:
        decoded = _with(stream.lazy_columns, _decode_json(read, stream, given, decoder))
    else:
        decoded = _decoded_already(read, columns, _with(stream.lazy_columns, given))
    arrival = f"coalesce(`_timestamp`, timestamp_micros({of_batch(_NOW, 'coalesce(`_offset`, 0L)')}))"
    kept = [quote(name) for name in _kept_columns(read, stream)]
    times = [f"{_stated_time(read, columns)} AS `_event_time`", f"{arrival} AS `_timestamp`", f"{SEQ if needs_order else '0L'} AS {SEQ}"]
    timed = _select([*kept, *times, RAW_TEXT, FATE], decoded)
    must_state = _must_state_time(read)
    time = "`_event_time`" if must_state else "coalesce(`_event_time`, `_timestamp`)"
    lost = f"WHEN `_event_time` IS NULL THEN {Fate.NO_EVENT_TIME.value} " if must_state else ""
    # In whole numbers: to add an interval to a timestamp, Spark goes by way of a time zone, for every row.
    future = f"WHEN unix_micros({time}) > unix_micros(`_timestamp`) + {read.time.max_future} THEN {Fate.FUTURE.value} "
    fate = f"CAST(CASE WHEN {FATE} <> {Fate.OK.value} THEN {FATE} {lost}{future}ELSE {Fate.OK.value} END AS TINYINT) AS {FATE}"
    judged = _expected(read, _select([*kept, "`_timestamp`", f"{time} AS `_event_time`", SEQ, RAW_TEXT, fate], timed))
    # The text is wanted of rows that are set aside; carrying it along with every other row would cost a copy each. Where columns are
    # left out, the one that sets rows aside takes it of those alone.
    text = f"CASE WHEN {FATE} <> {Fate.OK.value} THEN {RAW_TEXT} END AS {RAW_TEXT}" if read.projected_columns is None else RAW_TEXT
    return _select([*kept, "`_timestamp`", "`_event_time`", SEQ, FATE, text], judged, is_inner=False)


def _expected(read: Read, judged: str) -> str:
    """Rows that are sound in all else, judged by what is expected of them, with every column that a query would see."""
    if not judging(read.constraints):
        return judged
    fate = f"CAST(CASE WHEN {FATE} <> {Fate.OK.value} THEN {FATE} ELSE {fate_sql(read.constraints)} END AS TINYINT) AS {FATE}"
    return _select([f"* EXCEPT ({FATE})", fate], judged)


def _kept_columns(read: Read, stream: SourceStream) -> list[str]:
    """Declared columns that are decoded, and where a row came from."""
    number = () if stream.topics is None else (TOPIC_NUMBER,)
    return [name for name in (*(column.name for column in read.decoded), *PROVENANCE, *number) if name != "_timestamp"]


def without_pushdown(read: Read, stream: SourceStream) -> Read:
    """Columns may stay where they are only where rows are text, and where that is what dead letters keep."""
    return projected(read, SourceFacts(stream.format, keeps_original=ORIGINAL in stream.frame.columns))


def _select(columns: Sequence[str], source: str, *, is_inner: bool = True) -> str:
    text = f"SELECT {', '.join(columns)} FROM {source}"
    return f"({text})" if is_inner else text


def _with(columns: Mapping[str, str], source: str) -> str:
    return _select(["*", *(f"{sql} AS {quote(name)}" for name, sql in columns.items())], source) if columns else source


def _decode_json(read: Read, stream: SourceStream, given: str, decoder: str | None) -> str:
    """JSON with Spark's permissive parser: a bad field is NULL and noted, a bad row is set aside with its text.

    ``decoder`` names a function that gives what the parser would give, or NULL: it is asked first.
    """
    schema = struct_type({**_fields(read), _CORRUPT: "STRING"}).replace("\\", "\\\\").replace("'", "\\'")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{_CORRUPT}')"
    text = f"CAST({RAW} AS STRING)"
    parsed = f"from_json({text}, '{schema}', {options})"
    # A projection that parses JSON is not compiled by Spark, and copies what it hands on: nothing else is done in it, or before it.
    if decoder is None:
        source = _select(["*", f"{parsed} AS {_DECODED}"], given)
    else:
        by_arrow = _select(["*", f"{decoder}({text}) AS {_STRUCT}"], given)
        handed_on = [quote(name) for name in (*stream.frame.columns, *stream.task_local_columns)]
        either = f"CASE WHEN {_ALWAYS} THEN coalesce({_STRUCT}, {parsed}) END AS {_DECODED}"
        source = _select([*handed_on, f"{_STRUCT} IS NOT NULL AS {_BY_ARROW}", either], by_arrow)
    original = ORIGINAL if ORIGINAL in stream.frame.columns else RAW
    others = [quote(name) for name in (*stream.frame.columns, *stream.task_local_columns) if name != RAW]
    # Only a noted row is looked at again: is it an object with a bad field, or nothing that can be read at all?
    is_object = f"schema_of_variant(try_parse_json({text})) LIKE 'OBJECT%'"
    noted = f"{_DECODED}.{_CORRUPT} IS NOT NULL"
    broken = (
        f"({_DECODED} IS NULL OR {_is_no_text(read, text)} OR {_is_not_one_object(text)} OR ({noted} AND NOT coalesce({is_object}, false)))"
    )
    if decoder is not None:
        broken = f"(NOT {_BY_ARROW} AND {broken})"
    decoded = [f"{_DECODED}.{quote(c.name)} AS {quote(c.name)}" for c in read.decoded]
    fate = _decode_fate(read, broken, noted, [f"{_DECODED}.{quote(c.name)}" for c in _required(read)])
    return _select([*others, *decoded, f"CAST({original} AS BINARY) AS {RAW_TEXT}", f"{fate} AS {FATE}"], source)


def _is_no_text(read: Read, text: str) -> str:
    """SQL that is true for JSON with a value that is no UTF-8. Spark's parser puts another character for what it cannot read.

    To look through the whole row takes a third of the time that parsing takes, so it is done where that character turned up.
    """
    if any(isinstance(column.type, Array | Map | Struct) or column.type == VARIANT for column in read.decoded):
        return f"NOT is_valid_utf8({text})"
    texts = [column for column in read.decoded if spark_type(column) == "STRING"]
    odd = [f"contains({_DECODED}.{quote(column.name)}, '{_REPLACED}')" for column in texts]
    return f"(({' OR '.join(odd)}) AND NOT is_valid_utf8({text}))" if odd else "false"


def _is_not_one_object(text: str) -> str:
    """SQL that is true for JSON that begins with anything but an object, or goes on after it: Spark's parser stops there in silence."""
    # Where the first closing brace is the last character of all, nothing can follow the object. Most rows are so.
    # Bytes are searched several times faster than text.
    before = f"substring(CAST({text} AS BINARY), 1, octet_length({text}) - 1)"
    is_flat = f"(startswith({text}, '{{') AND endswith({text}, '}}') AND NOT contains({before}, X'7D'))"
    # To trim anything but spaces costs as much as to parse, so it is done only where something may be to trim.
    begins = f"(startswith({text}, '{{') OR startswith(ltrim({_SPACE}, {text}), '{{'))"
    # As the first of two elements, an object with anything behind it makes an array of another length, or none at all.
    return f"NOT ({is_flat} OR ({begins} AND coalesce(json_array_length(concat('[', {text}, ',0]')) = 2, false)))"


def _fields(read: Read) -> dict[str, str]:
    return {column.name: spark_type(column) for column in read.decoded}


def spark_type(column: ColumnDef) -> str:
    """A column of which no value is known yet is read as text."""
    return text_type(column.type)


def _decoded_already(read: Read, columns: Sequence[str], source: str) -> str:
    has_bad = BAD in columns
    fate = _decode_fate(read, f"{BAD} IS NOT NULL" if has_bad else "false", "false", [quote(c.name) for c in _required(read)])
    raw = f"CAST({BAD} AS BINARY)" if has_bad else "CAST(NULL AS BINARY)"
    others = [quote(name) for name in columns if name != BAD]
    return _select([*others, f"{raw} AS {RAW_TEXT}", f"{fate} AS {FATE}"], source)


def _required(read: Read) -> list[ColumnDef]:
    return [column for column in read.columns if not column.nullable]


def _decode_fate(read: Read, broken: str, noted: str, required: list[str]) -> str:
    branches = [f"WHEN {broken} THEN {Fate.UNDECODABLE.value}"]
    if read.bad_fields is FieldPolicy.DEAD_LETTER:
        branches.append(f"WHEN {noted} THEN {Fate.BAD_FIELD.value}")
    if required:
        missing = " OR ".join(f"{column} IS NULL" for column in required)
        branches.append(f"WHEN {missing} THEN {Fate.BAD_FIELD.value}")
    return f"CASE {' '.join(branches)} ELSE {Fate.OK.value} END"


def _must_state_time(read: Read) -> bool:
    """Whether a row without an event time of its own is set aside; else its arrival time is taken."""
    return read.time.column is not None and read.time.on_missing is not MissingTime.ARRIVAL


def _stated_time(read: Read, columns: Sequence[str]) -> str:
    """SQL for the event time that a row states itself."""
    if read.time.column is not None:
        column = next(c for c in read.columns if c.name.lower() == read.time.column.lower())
        return event_time_sql(quote(column.name), column.type, read.time.format)
    if CASE_TIME in columns:
        return f"coalesce(timestamp_millis({CASE_TIME}), `_event_time`)"
    return "CAST(NULL AS TIMESTAMP)"


def policies(read: Read) -> dict[Fate, RowPolicy]:
    """What happens to a row that is set aside at the source: dead_letter, drop or fail."""
    return {
        Fate.UNDECODABLE: read.bad_rows,
        Fate.BAD_FIELD: read.bad_rows,
        Fate.NO_EVENT_TIME: RowPolicy.DEAD_LETTER if read.time.on_missing is MissingTime.ARRIVAL else RowPolicy(read.time.on_missing),
        Fate.FUTURE: RowPolicy.DEAD_LETTER,
        Fate.LATE_AT_SOURCE: RowPolicy.DROP,
    }
