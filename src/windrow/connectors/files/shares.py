"""Pieces of files in shares of one size, so that no core waits for another at the end of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

# A task for less would cost more than it saves.
_LEAST = 4 << 20
# How many tasks each core gets: some are slower than others.
_A_CORE = 2


class Stretch(NamedTuple):
    """Bytes of a piece, which has a number."""

    piece: int
    start: int
    length: int


def in_shares(stretches: Sequence[Stretch], shares: int) -> Iterator[list[Stretch]]:
    """The same bytes in the same order, cut into so many shares.

    >>> list(in_shares([Stretch(0, 0, 4), Stretch(1, 10, 2)], 2))
    [[Stretch(piece=0, start=0, length=3)], [Stretch(piece=0, start=3, length=1), Stretch(piece=1, start=10, length=2)]]
    """
    total = sum(one.length for one in stretches)
    ends = [total * (number + 1) // shares for number in range(shares)]
    share: list[Stretch] = []
    done = 0
    for piece, start, length in stretches:
        at, left = start, length
        while left:
            taken = min(left, ends[0] - done)
            share.append(Stretch(piece, at, taken))
            at, left, done = at + taken, left - taken, done + taken
            if done == ends[0]:
                yield share
                share, ends = [], ends[1:]


def even_partitions(jvm: Any, gateway: Any, pieces: Sequence[Any], cores: int) -> Any | None:
    """What a scan reads, in partitions of one size; None where there is too little to be cut."""
    stretches = [Stretch(number, piece.start(), piece.length()) for number, piece in enumerate(pieces)]
    shares = min(cores * _A_CORE, sum(one.length for one in stretches) // _LEAST)
    if shares < 2:
        return None
    datasources = jvm.org.apache.spark.sql.execution.datasources
    # Each question is a call into the JVM, so it is asked once for a piece, however many shares it is cut into.
    known = [_known(piece) for piece in pieces]
    found = jvm.java.util.ArrayList()
    for index, share in enumerate(in_shares(stretches, shares)):
        files = gateway.new_array(datasources.PartitionedFile, len(share))
        for place, (number, start, length) in enumerate(share):
            before, after = known[number]
            files[place] = datasources.PartitionedFile(*before, start, length, *after)
        found.add(datasources.FilePartition(index, files))
    return jvm.PythonUtils.toSeq(found)


def _known(piece: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a piece is made with, before and after its place in the file."""
    after = (piece.locations(), piece.modificationTime(), piece.fileSize(), piece.otherConstantMetadataColumnValues())
    return (piece.partitionValues(), piece.filePath()), after
