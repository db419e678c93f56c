"""Which rows are due when, by a clock that the test moves."""

from __future__ import annotations

import pickle
from fractions import Fraction

from pyspark.sql.streaming.datasource import ReadAllAvailable

from windrow.connectors.generator.reader import IndexReader, IndexSource, Indices

ALL = ReadAllAvailable()


class Clock:
    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


def test_rows_come_at_their_rate_from_where_the_run_began() -> None:
    clock = Clock()
    reader = IndexReader(Fraction(10), rows=None, rows_per_batch=25, tasks=1, now=clock)
    assert reader.latestOffset({"row": 100}, ALL) == {"row": 101}, "the first row is due at once"
    assert reader.latestOffset({"row": 101}, ALL) == {"row": 101}
    clock.at += 1
    assert reader.latestOffset({"row": 101}, ALL) == {"row": 111}
    clock.at += 10
    assert reader.latestOffset({"row": 111}, ALL) == {"row": 136}, "no more than a batch holds"
    assert reader.latestOffset({"row": 136}, ALL) == {"row": 161}


def test_slow_rates_and_the_end() -> None:
    clock = Clock()
    reader = IndexReader(Fraction(1, 2), rows=3, rows_per_batch=100, tasks=1, now=clock)
    seen, row = [], 0
    for _ in range(8):
        row = reader.latestOffset({"row": row}, ALL)["row"]
        seen.append(row)
        clock.at += 1
    assert seen == [1, 1, 2, 2, 3, 3, 3, 3]


def test_a_bounded_run_does_not_wait() -> None:
    reader = IndexReader(Fraction(1), rows=250, rows_per_batch=100, tasks=1, now=Clock())
    reader.prepareForTriggerAvailableNow()
    ends, row = [], 0
    for _ in range(4):
        row = reader.latestOffset({"row": row}, ALL)["row"]
        ends.append(row)
    assert ends == [100, 200, 250, 250]
    assert reader.latestOffset({"row": 300}, ALL) == {"row": 300}, "fewer rows than were read before is no step back"


def test_every_index_once_whatever_the_tasks() -> None:
    for tasks in (1, 3):
        reader = IndexReader(None, None, 10, tasks)
        parts = reader.partitions({"row": 5}, {"row": 100_005})
        assert len(parts) == tasks
        read = [index for part in parts for batch in reader.read(part) for index in batch.column(0).to_pylist()]
        assert read == list(range(5, 100_005))
    assert IndexReader(None, None, 10, 2).partitions({"row": 5}, {"row": 5}) == []


def test_the_source_crosses_to_workers() -> None:
    source = pickle.loads(pickle.dumps(IndexSource({"rate": "1/3", "rows": "", "batch": "10", "tasks": "2"})))
    reader = source.streamReader(None)
    assert reader.initialOffset() == {"row": 0}
    part = pickle.loads(pickle.dumps(Indices(1, 2)))
    assert (part.start, part.end) == (1, 2)
