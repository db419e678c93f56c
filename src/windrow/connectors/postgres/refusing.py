"""Going on without the rows that the database refuses for what they hold.

A batch that is refused as a whole is taken apart: each half is tried behind a savepoint, down to single rows. Which rows were
refused is noted with the number of the batch, so that a batch that runs again gives the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psycopg
import pyarrow as pa

from windrow.connectors.marked_rows import GONE, PLACE
from windrow.connectors.postgres.failures import classify, said
from windrow.connectors.postgres.settings import Connection
from windrow.connectors.runtime import Refused
from windrow.resilience import FailureClass

Write = Callable[[pa.RecordBatch], None]


def write_apart(connection: Connection, batches: Iterable[pa.RecordBatch], write: Write) -> list[Refused]:
    """Write what can be written, in order; gives the rows that cannot."""
    return [refused for batch in batches if batch.num_rows for refused in _write(connection, batch, write)]


def _write(connection: Connection, batch: pa.RecordBatch, write: Write) -> Iterator[Refused]:
    try:
        with connection.transaction():
            write(batch)
    except psycopg.Error as error:
        if classify(error) is not FailureClass.DATA:
            raise
        if batch.num_rows == 1:
            yield Refused(_row(batch), said(error))
            return
    else:
        return
    half = batch.num_rows // 2
    yield from _write(connection, batch.slice(0, half), write)
    yield from _write(connection, batch.slice(half), write)


def _row(batch: pa.RecordBatch) -> dict[str, Any]:
    return {name: value for name, value in batch.to_pylist()[0].items() if name not in (GONE, PLACE)}


def to_json(refused: list[Refused]) -> str:
    return json.dumps([{"row": one.row, "why": one.why} for one in refused], default=str, ensure_ascii=False)


def from_json(data: list[dict[str, Any]] | None) -> tuple[Refused, ...]:
    """As the database gives them back: what JSON has no word for is text."""
    return tuple(Refused(one["row"], one["why"]) for one in data or ())
