"""How values are spelled in JSON and CSV."""

from __future__ import annotations

import datetime as dt
import decimal
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.connectors.encoding import json_lines
from windrow.connectors.files.csv_text import csv_lines
from windrow.connectors.files.endings import format_of
from windrow.connectors.files.settings import CsvSettings, SourceSettings
from windrow.errors import UsageError

AT = dt.datetime(2026, 1, 1, 1, 0, 10, 500, tzinfo=dt.timezone(dt.timedelta(hours=1)))


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (True, pa.bool_(), "true"),
        (2**63 - 1, pa.int64(), "9223372036854775807"),
        (0.1, pa.float32(), "0.1"),
        (1e300, pa.float64(), "1e+300"),
        (float("-inf"), pa.float64(), '"-Infinity"'),
        (decimal.Decimal("1.50"), pa.decimal128(38, 2), "1.50"),
        (decimal.Decimal("0.0000000000"), pa.decimal128(20, 10), "0.0000000000"),
        ('a"\n\u2028é', pa.string(), '"a\\"\\n\u2028é"'),
        ("x", pa.large_string(), '"x"'),
        (b"ab", pa.binary(), '"YWI="'),
        (AT, pa.timestamp("us", "UTC"), '"2026-01-01T00:00:10.000500Z"'),
        (AT, pa.timestamp("us", "Europe/Madrid"), '"2026-01-01T01:00:10.000500+01:00"'),
        (AT.replace(tzinfo=None), pa.timestamp("ns"), '"2026-01-01T01:00:10.000500"'),
        (dt.datetime(1, 1, 1, tzinfo=dt.UTC), pa.timestamp("us", "UTC"), '"0001-01-01T00:00:00.000000Z"'),
        (dt.date(2026, 1, 2), pa.date32(), '"2026-01-02"'),
        ([1, None], pa.list_(pa.int32()), "[1,null]"),
        ({"a": 1, "b": None}, pa.struct([("a", pa.int32()), ("b", pa.string())]), '{"a":1,"b":null}'),
        ([("k", 1.5), ("l", None)], pa.map_(pa.string(), pa.float64()), '{"k":1.5,"l":null}'),
        ([(1, [True])], pa.map_(pa.int32(), pa.list_(pa.bool_())), '{"1":[true]}'),
    ],
)
def test_json(value: object, type_: pa.DataType, text: str) -> None:
    table = pa.table({"v": pa.array([value, None], type_)})
    assert list(json_lines(table, ("v",))) == [f'{{"v":{text}}}', '{"v":null}']
    json.loads(text)


def test_dictionaries_are_their_values() -> None:
    table = pa.table({"v": pa.array(["a", "b", "a"]).dictionary_encode()})
    assert list(json_lines(table, ("v",))) == ['{"v":"a"}', '{"v":"b"}', '{"v":"a"}']


@given(
    st.lists(st.tuples(st.text(), st.floats(allow_nan=False, allow_infinity=False), st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))))
)
def test_json_reads_back(rows: list[tuple[str, float, int | None]]) -> None:
    columns = [pa.array([row[place] for row in rows], type_) for place, type_ in enumerate((pa.string(), pa.float64(), pa.int64()))]
    table = pa.table(columns, names=["s", "f", "i"])
    assert [tuple(json.loads(line).values()) for line in json_lines(table, ("s", "f", "i"))] == rows


def test_csv_nested_values_are_json() -> None:
    table = pa.table({"l": [[1, 2]], "b": [b"ab"], "t": pa.array([AT], pa.timestamp("us", "UTC")), "o": [False]})
    lines = list(csv_lines(table, ("l", "b", "t", "o"), CsvSettings.of({"csv.header": "false"}, "")))
    assert lines == ['"[1,2]",YWI=,2026-01-01T00:00:10.000500Z,false']


def test_formats_by_ending() -> None:
    paths = ("a.JSON", "a/*.ndjson.gz", "a.tsv", "x/b.parquet/", "s3a://b/c", "a.csv/part")
    assert [format_of(path) for path in paths] == ["json", "json", "csv", "parquet", None, None]
    assert SourceSettings.of({"path": "a.tsv"}).csv.delimiter == "\t"
    assert SourceSettings.of({"path": "a.csv", "format": "json"}).format == "json"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"path": " "},
        {"path": "a", "format": "xml"},
        {"path": "a", "csv.quote": "''"},
        {"path": "a", "csv.header": "yes"},
        {"path": "a", "files.per_batch": "0"},
    ],
)
def test_wrong_options(options: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="WR503"):
        SourceSettings.of(options)
