"""Late rows of a batch of which no letter tells by how much they were late: those that were dropped, and those that corrected a window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from windrow.model import row_protocol
from windrow.observe.batch_record import rounded_lateness
from windrow.spark.row_columns import ROW, ROWS_COUNT
from windrow.windowing.clock import Clock

_TIME, _PARTITION = row_protocol.EVENT_TIME, "_partition"


@dataclass
class LateRowCounts:
    """By statement, and by how many microseconds: for a row that corrected a window, by how long that had been closed.

    ``at_source`` are rows that a source dropped, as times by partition: its clock says by how much they were late.
    """

    dropped: dict[str, Counter[int]] = field(default_factory=dict)
    corrected: dict[str, Counter[int]] = field(default_factory=dict)
    at_source: dict[str, list[pa.Table]] = field(default_factory=dict)

    def take_dropped(self, statement: str, found: Iterable[tuple[int | None, int]]) -> None:
        _add(self.dropped.setdefault(statement, Counter()), found)

    def take_corrected(self, statement: str, found: Iterable[tuple[int | None, int]]) -> None:
        _add(self.corrected.setdefault(statement, Counter()), found)

    def take_at_source(self, source: str, rows: pa.Table) -> None:
        """``rows`` have what was set aside, whole, and how many there are of each."""
        if not pa.types.is_struct(rows[ROW].type):
            return
        fields = {field.name for field in rows[ROW].type}
        if _TIME not in fields:
            return
        times = pc.struct_field(rows[ROW], _TIME).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
        none = pa.chunked_array([pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)])
        partitions = pc.struct_field(rows[ROW], _PARTITION).cast(pa.int64()) if _PARTITION in fields else none
        columns = {_TIME: times, _PARTITION: pc.fill_null(partitions, 0), ROWS_COUNT: rows[ROWS_COUNT]}
        self.at_source.setdefault(source, []).append(pa.table(columns))

    def add(self, other: LateRowCounts) -> None:
        for mine, theirs in ((self.dropped, other.dropped), (self.corrected, other.corrected)):
            for name, counts in theirs.items():
                mine.setdefault(name, Counter()).update(counts)
        for source, tables in other.at_source.items():
            self.at_source.setdefault(source, []).extend(tables)

    def behind(self, source: str, clock: Clock, delay: int) -> Counter[int]:
        """By how much rows that a source dropped were behind the watermark of their own partition, as the batch found it."""
        found: Counter[int] = Counter()
        for table in self.at_source.get(source, ()):
            for number in pc.unique(table[_PARTITION]).to_pylist():
                progress = clock.partitions.get(number)
                if progress is None or progress.greatest is None:
                    continue
                own = table.filter(pc.equal(table[_PARTITION], number))
                by = pc.subtract(progress.greatest - delay, own[_TIME])
                _add(found, zip(by.to_pylist(), own[ROWS_COUNT].to_pylist(), strict=True))
        return found


def _add(counts: Counter[int], found: Iterable[tuple[int | None, int]]) -> None:
    for by, rows in found:
        if by is not None and rows:
            counts[rounded_lateness(max(0, by))] += rows


def by_name(*every: Mapping[str, Counter[int]]) -> dict[str, dict[int, int]]:
    """Several counts as one, in order.

    >>> by_name({"a": Counter({5: 1, 3: 1})}, {"a": Counter({5: 2}), "b": Counter()})
    {'a': {3: 1, 5: 3}}
    """
    sums: dict[str, Counter[int]] = {}
    for counts in every:
        for name, own in counts.items():
            sums.setdefault(name, Counter()).update(own)
    return {name: dict(sorted(own.items())) for name, own in sums.items() if own}
