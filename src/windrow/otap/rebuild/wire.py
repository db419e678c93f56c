"""OTAP messages: BatchArrowRecords with one Arrow IPC stream for each table, and files of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from windrow.otap.rebuild.collect import Tables
from windrow.otap.tables import TABLES

_NAMES = {kind.payload: name for name, kind in TABLES.items()}
_VARINT, _BYTES = 0, 2


def encode_batch(batch_id: int, tables: Tables) -> bytes:
    """A BatchArrowRecords message. Every payload has a schema id of its own, so that each can be read without the others."""
    parts = [_number(1, batch_id)]
    for name, table in sorted(tables.items(), key=lambda item: TABLES[item[0]].payload):
        record = _number(2, TABLES[name].payload) + _piece(3, _stream(table))
        parts.append(_piece(2, _piece(1, f"{name}:{batch_id}".encode()) + record))
    return b"".join(parts)


def decode_batch(data: bytes) -> tuple[int, Tables]:
    """The batch id and the tables of a message."""
    batch_id, tables = 0, {}
    for field, value in read_fields(data):
        if field == 1 and isinstance(value, int):
            batch_id = value
        elif field == 2 and isinstance(value, bytes):
            payload = dict(read_fields(value))
            kind, record = payload[2], payload[3]
            assert isinstance(kind, int)
            tables[_NAMES[kind]] = pa.ipc.open_stream(pa.py_buffer(record)).read_all()
    return batch_id, tables


def write_delimited(out: BinaryIO, message: bytes) -> None:
    """Length first, as protobuf's own delimited files."""
    out.write(_varint(len(message)) + message)


def read_delimited(data: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(data):
        length, at = _read_varint(data, at)
        yield data[at : at + length]
        at += length


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        # One record batch a payload, as consumers expect.
        writer.write_batch(table.combine_chunks().to_batches()[0])
    return bytes(sink.getvalue().to_pybytes())


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _piece(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """
    >>> _varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message of protobuf that has only numbers and pieces."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, at = _read_varint(data, at)
        if tag & 7 == _BYTES:
            yield tag >> 3, data[at : at + number]
            at += number
        else:
            yield tag >> 3, number
