"""Which rows of new files came after their window was handed over."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.otap.discovery import DataFile, TimeRule, with_ids
from windrow.otap.footers import DURATION, OBSERVED, START, TIME, TIME_ALIAS, Bounds
from windrow.otap.layout import Base, Listed
from windrow.otap.timing import Timing, Window
from windrow.otap.windows import row_times

LOG = logging.getLogger("windrow.otap")
LinkFiles = Mapping[str, list[tuple[Listed, Bounds | None]]]
Counts = dict[Window, int]
_TIMES = (TIME, TIME_ALIAS, OBSERVED, START, DURATION)


class LateCounter:
    """Counts rows by window. ``rule`` says what the time of a row is."""

    def __init__(self, base: Base, timing: Timing, rule: TimeRule) -> None:
        self._base = base
        self._timing = timing
        self._rule = rule

    def of_rows(self, files: Iterable[DataFile], seen: Collection[str], done: int) -> Iterator[tuple[str, Counts]]:
        """The files that were not seen before and may have rows for windows before ``done``, each with the number of them."""
        for file in _before(files, done):
            if file.path not in seen:
                yield file.path, self._counted(self._times(file)["time"], done)

    def of_links(self, files: Iterable[DataFile], links: LinkFiles, seen: Collection[str], done: int) -> Iterator[tuple[str, Counts]]:
        """The same for links, which count when their span does: a file of spans may be new, or a file of links.

        Every pair of such files is judged once, when the later of them is new: under the spans if both are.
        """
        early = _before(files, done)
        for file in early:
            if file.path not in seen:
                own = with_ids(links.get(file.listed.part_id, []), file.footer.bounds.get("id"))
                yield file.path, self._links([file], own, done)
        for part, own_links in links.items():
            known = [(file, file.footer.bounds.get("id")) for file in early if file.listed.part_id == part and file.path in seen]
            for listed, parents in own_links:
                if listed.path not in seen:
                    spans = [file for file, ids in known if _meet(ids, parents)]
                    yield listed.path, self._links(spans, [listed], done)

    def _links(self, spans: list[DataFile], links: list[Listed], done: int) -> Counts:
        if not spans or not links:
            return {}
        times = pl.concat([self._times(file, "id") for file in spans]).unique("id", keep="first")
        parents = pl.concat([self._parents(file) for file in links]).to_frame("id")
        return self._counted(parents.join(times, on="id")["time"], done)

    def _times(self, file: DataFile, *ids: str) -> pl.DataFrame:
        """The time of each row in nanoseconds; one that has none counts as the first of its file."""
        assert file.times is not None
        rows = self._read(file.path, [*ids, *(name for name in _TIMES if name in file.footer.columns)])
        if rows is None:
            return pl.DataFrame(schema={**dict.fromkeys(ids, pl.UInt32), "time": pl.Int64})
        times = pc.fill_null(row_times(rows, self._rule), file.times[0])
        return pl.DataFrame({**{name: _ids(rows[name]) for name in ids}, "time": pl.from_arrow(times)})

    def _parents(self, file: Listed) -> pl.Series:
        rows = self._read(file.path, ["parent_id"])
        return pl.Series(dtype=pl.UInt32) if rows is None else _ids(rows["parent_id"])

    def _read(self, path: str, columns: list[str]) -> pa.Table | None:
        try:
            with self._base.open(path) as source, pq.ParquetFile(source) as parquet:
                return parquet.read(columns=columns)
        except (pa.ArrowException, OSError, ValueError) as error:
            LOG.warning("%s cannot be read: %s", path, self._base.damage(error))
            return None

    def _counted(self, times: pl.Series, done: int) -> Counts:
        length = self._timing.window_granularity
        counts = times.filter(times < done).to_frame("time").group_by(pl.col("time") // length * length).len().sort("time")
        return {self._timing.window_at(start): rows for start, rows in counts.iter_rows()}


def _before(files: Iterable[DataFile], done: int) -> list[DataFile]:
    return [file for file in files if file.times is not None and file.times[0] < done]


def _ids(column: pa.ChunkedArray) -> pl.Series:
    return pl.Series(pl.from_arrow(column.cast(pa.uint32())))


def _meet(one: Bounds | None, other: Bounds | None) -> bool:
    return one is None or other is None or (one[0] <= other[1] and one[1] >= other[0])
