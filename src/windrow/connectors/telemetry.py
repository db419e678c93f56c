"""The rows of a batch as OTLP requests: so many rows at once, and none longer than its receiver takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from windrow.connectors.encoding import in_micros, quoted
from windrow.connectors.runtime import EMISSION, RETRACT, Output
from windrow.connectors.streaming import arrow_batches
from windrow.errors import JobError
from windrow.otap.rebuild.rows import request_of

BAD_ROW = "WR887"

Rows = list[dict[str, Any]]


def rows_of(output: Output, statement: str, most_rows: int) -> Iterator[Rows]:
    wanted = list(output.columns)
    if output.table is not None:
        had = [*wanted, *([EMISSION] if EMISSION in output.table.column_names and EMISSION not in wanted else ())]
        batches: Iterable[pa.RecordBatch] = output.table.select(had).to_batches(most_rows)
    else:
        assert output.frame is not None
        had = [*wanted, *([EMISSION] if EMISSION in output.frame.columns and EMISSION not in wanted else ())]
        batches = arrow_batches(output.frame.select(*map(quoted, had)))
    for batch in batches:
        table = in_micros(pa.Table.from_batches([batch]))
        for start in range(0, table.num_rows, most_rows):
            yield _without_marks(table.slice(start, most_rows).to_pylist(), statement, EMISSION in wanted)


def _without_marks(rows: Rows, statement: str, keeps: bool) -> Rows:
    for row in rows:
        if (row.get(EMISSION) if keeps else row.pop(EMISSION, None)) == RETRACT:
            message = f"{statement} takes a row back, and telemetry that was sent cannot be taken back"
            raise JobError(BAD_ROW, message, "EMIT FINAL gives each result once")
    return rows


def made_request(statement: str, signal: str, rows: Rows, most_bytes: int) -> Any | None:
    """None where it would be too long. One row alone is never too long."""
    try:
        request = request_of(signal, rows)
    except (TypeError, ValueError, KeyError) as error:
        message = f"a row of {statement} cannot be made {signal} of OTLP: {error}"
        raise JobError(BAD_ROW, message, "give columns the names and types of an OTAP stream: DESCRIBE shows them") from error
    return None if request.ByteSize() > most_bytes and len(rows) > 1 else request


def halves(rows: Rows) -> tuple[Rows, Rows]:
    middle = len(rows) // 2
    return rows[:middle], rows[middle:]


def requests_of(statement: str, signal: str, rows: Rows, most_bytes: int) -> Iterator[Any]:
    """The rows in one request, or halved until each is short enough."""
    request = made_request(statement, signal, rows, most_bytes)
    if request is not None:
        yield request
        return
    for half in halves(rows):
        yield from requests_of(statement, signal, half, most_bytes)
