"""CBOR (RFC 8949) as far as OTAP uses it: nested attribute values, which are JSON's kinds of values and bytes."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

_BREAK = object()
_DEEPEST = 100


def dump(value: Any) -> bytes:
    """A value as CBOR, lists and maps of indefinite length, as the exporter writes them.

    >>> dump(["a", 1, True]).hex()
    '9f616101f5ff'
    """
    match value:
        case None:
            return b"\xf6"
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int():
            return _head(0, value) if value >= 0 else _head(1, -1 - value)
        case float():
            return b"\xfb" + struct.pack(">d", value)
        case bytes():
            return _head(2, len(value)) + value
        case str():
            data = value.encode()
            return _head(3, len(data)) + data
        case dict():
            return b"\xbf" + b"".join(dump(str(key)) + dump(item) for key, item in value.items()) + b"\xff"
        case Sequence():
            return b"\x9f" + b"".join(dump(item) for item in value) + b"\xff"
        case _:
            raise ValueError(f"no CBOR for {type(value).__name__}")


def load(data: bytes) -> Any:
    """The value that CBOR stands for; ValueError where it is torn or holds something OTAP does not have.

    >>> load(dump({"a": [1.5, None, -7], "b": b"x"}))
    {'a': [1.5, None, -7], 'b': b'x'}
    """
    try:
        value, end = _read(data, 0, 0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"torn CBOR: {error}") from None
    if end != len(data) or value is _BREAK:
        raise ValueError("CBOR with something after its end")
    return value


def _head(major: int, number: int) -> bytes:
    if number < 24:
        return bytes([major << 5 | number])
    for code, (limit, form) in enumerate(((2**8, ">B"), (2**16, ">H"), (2**32, ">I"), (2**64, ">Q")), start=24):
        if number < limit:
            return bytes([major << 5 | code]) + struct.pack(form, number)
    raise ValueError("a whole number beyond 64 bits")


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEEPEST:
        raise ValueError("CBOR nested too deep")
    major, code = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return _simple(data, at, code)
    if code == 31:
        return _open_ended(data, at, major, depth)
    number, at = _number(data, at, code)
    if major <= 1:
        return (number if major == 0 else -1 - number), at
    if major in (2, 3):
        piece = data[at : at + number]
        if len(piece) < number:
            raise ValueError("torn CBOR: a text ends early")
        return (piece if major == 2 else piece.decode()), at + number
    if major == 4:
        items = []
        for _ in range(number):
            item, at = _read(data, at, depth + 1)
            items.append(item)
        return items, at
    if major == 5:
        return _pairs(data, at, number, depth)
    return _read(data, at, depth + 1)  # a tag says how to look at what follows: the value itself is enough


def _number(data: bytes, at: int, code: int) -> tuple[int, int]:
    if code < 24:
        return code, at
    form = {24: ">B", 25: ">H", 26: ">I", 27: ">Q"}.get(code)
    if form is None:
        raise ValueError("CBOR with a length of no known size")
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)


def _simple(data: bytes, at: int, code: int) -> tuple[Any, int]:
    known = {20: False, 21: True, 22: None, 23: None, 31: _BREAK}
    if code in known:
        return known[code], at
    form = {25: ">e", 26: ">f", 27: ">d"}.get(code)
    if form is None:
        raise ValueError(f"CBOR with the simple value {code}")
    return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)


def _open_ended(data: bytes, at: int, major: int, depth: int) -> tuple[Any, int]:
    if major == 5:
        return _pairs(data, at, None, depth)
    if major not in (2, 3, 4):
        raise ValueError("CBOR of indefinite length that cannot be so")
    items = []
    while True:
        item, at = _read(data, at, depth + 1)
        if item is _BREAK:
            break
        items.append(item)
    return (items if major == 4 else (b"" if major == 2 else "").join(items)), at


def _pairs(data: bytes, at: int, count: int | None, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while count is None or len(found) < count:
        key, at = _read(data, at, depth + 1)
        if key is _BREAK:
            break
        value, at = _read(data, at, depth + 1)
        found[str(key)] = value
    return found, at
