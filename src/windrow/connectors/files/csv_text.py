"""CSV as the driver writes it: what Spark's writer makes of the same values."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from windrow.connectors.encoding import ROWS_AT_ONCE, Spell, in_micros, is_nested, json_spelling, plain_spelling
from windrow.connectors.files.settings import CsvSettings


def csv_lines(table: pa.Table, columns: tuple[str, ...], csv: CsvSettings) -> Iterator[str]:
    """The header, if wanted, then one line a row; nested values are JSON in their cell."""
    table = in_micros(table.select(list(columns)))
    if csv.header:
        yield csv.delimiter.join(_csv_cell(name, csv) for name in columns)
    spells = [_csv_spelling(field.type) for field in table.schema]
    for batch in table.to_batches(max_chunksize=ROWS_AT_ONCE):
        cells = [
            [csv.null if value is None else _csv_cell(spell(value), csv) for value in column.to_pylist()]
            for spell, column in zip(spells, batch.columns, strict=True)
        ]
        for row in zip(*cells, strict=True):
            yield csv.delimiter.join(row)


def _csv_spelling(type_: pa.DataType) -> Spell:
    if is_nested(type_):
        return json_spelling(type_)
    if pa.types.is_floating(type_):
        spell = json_spelling(type_)
        return lambda value: spell(value).strip('"')
    if pa.types.is_boolean(type_) or pa.types.is_decimal(type_):
        return json_spelling(type_)
    return plain_spelling(type_)


def _csv_cell(text: str, csv: CsvSettings) -> str:
    # An empty text is quoted, because an empty cell means NULL; so is a text that looks like NULL.
    special = (csv.delimiter, csv.quote, "\n", "\r")
    if text == "" or text == csv.null or text != text.strip() or any(mark in text for mark in special):
        return csv.quote + text.replace(csv.quote, csv.quote * 2) + csv.quote
    return text
