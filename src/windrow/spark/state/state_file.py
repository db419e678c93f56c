"""A file of named Arrow tables and a JSON header, with a checksum, so that a torn file is seen and never half believed."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from windrow.errors import UsageError

# The format of what is saved. A later version reads what this one wrote, so this number goes up when a reader must know more; with it,
# the tests get a folder of states that were saved so (see CONTRIBUTING.md).
FORMAT = 2
_NAME = b"WINDROW"
MAGIC = _NAME + str(FORMAT).encode()


class TornFileError(Exception):
    """The file is cut short or damaged."""


def encode(header: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    payloads = {name: _table_bytes(table) for name, table in tables.items()}
    index = {name: len(data) for name, data in payloads.items()}
    head = json.dumps({"format": FORMAT, "header": header, "tables": index}).encode()
    body = b"".join([len(head).to_bytes(8, "big"), head, *payloads.values()])
    return b"".join([MAGIC, body, zlib.crc32(body).to_bytes(4, "big")])


def decode(data: bytes, place: str = "a message") -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """Header and tables of a file; ``place`` says where it stands. One of another format is refused, and nothing of it is believed."""
    if data.startswith(_NAME) and (found := data[len(_NAME) : len(MAGIC)]) != MAGIC[len(_NAME) :]:
        raise UsageError(
            "WR803",
            f"{place} was written in format {found.decode('ascii', 'replace')} by another version of Windrow, and this one reads {FORMAT}",
            "run the job with that version, or start with a new --state folder",
        )
    body = data[len(MAGIC) : -4]
    if data[: len(MAGIC)] != MAGIC or zlib.crc32(body).to_bytes(4, "big") != data[-4:]:
        raise TornFileError
    size = int.from_bytes(body[:8], "big")
    head = json.loads(body[8 : 8 + size])
    tables, at = {}, 8 + size
    for name, length in head["tables"].items():
        with pa.ipc.open_stream(body[at : at + length]) as reader:
            tables[name] = reader.read_all()
        at += length
    return head["header"], tables


def frame_of(table: pa.Table) -> pl.DataFrame:
    """A table as the steps take it."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame), "a table has columns"
    return frame


def _table_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    return sink.getvalue()
