"""Pieces of files in splits of one size, so that no core waits for another at the end of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windrow.spark.internals.json_scan import Split

# A task for less would cost more than it saves.
_LEAST = 4 << 20
# How many tasks each core gets: some are slower than others.
_A_CORE = 2


def balanced(splits: Sequence[Split], tasks: int) -> Iterator[list[Split]]:
    """The same bytes in the same order, cut for so many tasks.

    >>> list(balanced([Split(0, 0, 4), Split(1, 10, 2)], 2))
    [[Split(piece=0, start=0, length=3)], [Split(piece=0, start=3, length=1), Split(piece=1, start=10, length=2)]]
    """
    total = sum(one.length for one in splits)
    ends = [total * (number + 1) // tasks for number in range(tasks)]
    task: list[Split] = []
    done = 0
    for piece, start, length in splits:
        at, left = start, length
        while left:
            taken = min(left, ends[0] - done)
            task.append(Split(piece, at, taken))
            at, left, done = at + taken, left - taken, done + taken
            if done == ends[0]:
                yield task
                task, ends = [], ends[1:]


def even_splits(splits: Sequence[Split], cores: int) -> list[list[Split]] | None:
    """What each task reads; None where there is too little to be cut.

    >>> even_splits([Split(0, 0, 100)], 2)
    """
    tasks = min(cores * _A_CORE, sum(one.length for one in splits) // _LEAST)
    return None if tasks < 2 else list(balanced(splits, tasks))
