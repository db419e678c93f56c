"""Bytes of Apache DataSketches' HyperLogLog, merged here as Spark does it: the registers of the whole are the greatest of each.

Spark makes the sketches of a batch and reads the result; what a merge gives depends neither on order nor on how often it was done.
The form: https://datasketches.apache.org/docs/HLL/HllSketches.html
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.lazy import LazyModule

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.compute as pc
else:
    pa, pc = LazyModule("pyarrow"), LazyModule("pyarrow.compute")

_VERSION, _FAMILY = 1, 7
_LIST, _SET, _REGISTERS = 0, 1, 2
_OF_4_BITS, _OF_8_BITS = 0, 2
# Flags of the preamble: without slots that are empty; not counted one after the other.
_COMPACT, _MERGED, _EMPTY = 8, 16, 4
_LONGEST_LIST, _LEAST_OF_SETS = 8, 8
_START = 40
_ELSEWHERE = 15


@dataclass(frozen=True)
class Sketch:
    """Either hashes, 26 bits of a place and 6 of a value, or, of more than fit, the greatest value of each of ``2 ** size`` places."""

    size: int
    hashes: frozenset[int] = frozenset()
    registers: bytes | None = None

    def at(self, size: int) -> bytes:
        """The registers of a sketch of this size or a smaller one."""
        found = bytearray(1 << size)
        if self.registers is not None:
            folded = self.registers
            while len(folded) > len(found):
                half = len(folded) // 2
                folded = _greatest(folded[:half], folded[half:])
            found[:] = folded
        for each in self.hashes:
            place, value = each & (len(found) - 1), each >> 26
            found[place] = max(found[place], value)
        return bytes(found)


def union(sketches: Iterable[bytes | None]) -> bytes | None:
    """One sketch of all, as small as the smallest of them; None of none."""
    read = [read_sketch(each) for each in sketches if each is not None]
    if not read:
        return None
    size = min(each.size for each in read)
    if all(each.registers is None for each in read):
        hashes = frozenset[int]().union(*(each.hashes for each in read))
        if len(hashes) <= _most_hashes(size):
            return _of_hashes(size, sorted(hashes))
    whole, *others = (each.at(size) for each in read)
    for other in others:
        whole = _greatest(whole, other)
    return _of_registers(size, whole)


def read_sketch(data: bytes) -> Sketch:
    """The bytes of a list, a set or registers, as Spark and this module write them."""
    if len(data) < _LONGEST_LIST or data[1] != _VERSION or data[2] != _FAMILY:
        raise ValueError("these bytes are no HLL sketch")
    size, mode = data[3], data[7] & 3
    if mode == _LIST:
        return Sketch(size, frozenset(_integers(data[8 : 8 + 4 * data[6]])))
    if mode == _SET:
        return Sketch(size, frozenset(_integers(data[12:])))
    return Sketch(size, registers=_read_registers(data, size))


def _read_registers(data: bytes, size: int) -> bytes:
    places, form = 1 << size, data[7] >> 2
    if form == _OF_8_BITS:
        return data[_START : _START + places]
    if form != _OF_4_BITS:
        raise ValueError("an HLL sketch with six bits a register is none of Spark's")
    least, packed = data[6], data[_START : _START + places // 2]
    found = bytearray(places)
    found[0::2] = packed.translate(bytes((each & 15) + least for each in range(256)))
    found[1::2] = packed.translate(bytes((each >> 4) + least for each in range(256)))
    # A value that is too great for four bits stands behind them, with its place.
    for each in _integers(data[_START + places // 2 :]):
        found[each & (places - 1)] = each >> 26
    return bytes(found)


def _integers(data: bytes) -> Iterator[int]:
    return (each for (each,) in struct.iter_unpack("<I", data[: len(data) // 4 * 4]) if each)


def _most_hashes(size: int) -> int:
    """Beyond them registers are smaller."""
    return _LONGEST_LIST if size < _LEAST_OF_SETS else 3 * (1 << (size - 3)) // 4


def _of_hashes(size: int, hashes: Sequence[int]) -> bytes:
    data = struct.pack(f"<{len(hashes)}I", *hashes)
    if len(hashes) <= _LONGEST_LIST:
        flags = _COMPACT | (0 if hashes else _EMPTY)
        return bytes((2, _VERSION, _FAMILY, size, 3, flags, len(hashes), _LIST | _OF_8_BITS << 2)) + data
    head = bytes((3, _VERSION, _FAMILY, size, max(5, (len(hashes) * 4 // 3).bit_length()), _COMPACT, 0, _SET | _OF_8_BITS << 2))
    return head + struct.pack("<I", len(hashes)) + data


def _of_registers(size: int, registers: bytes) -> bytes:
    counts = [registers.count(value) for value in range(64)]
    low = sum(count * 2.0**-value for value, count in enumerate(counts[:32]))
    high = sum(count * 2.0**-value for value, count in enumerate(counts[32:], 32))
    head = bytes((10, _VERSION, _FAMILY, size, 0, _MERGED, 0, _REGISTERS | _OF_8_BITS << 2))
    return head + struct.pack("<dddII", 0.0, low, high, counts[0], 0) + registers


def _greatest(one: bytes, other: bytes) -> bytes:
    arrays = (pa.Array.from_buffers(pa.uint8(), len(each), [None, pa.py_buffer(each)]) for each in (one, other))
    found: bytes = pc.max_element_wise(*arrays).buffers()[1].to_pybytes()[: len(one)]
    return found
