"""What the footer of a file says: rows, and the least and greatest values of the columns that files are chosen by."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.otap.layout import Base, Listed

TIME, TIME_ALIAS, OBSERVED = "time_unix_nano", "timestamp_unix_nano", "observed_time_unix_nano"
START, DURATION = "start_time_unix_nano", "duration_time_unix_nano"
_LOOKED_AT = (TIME, TIME_ALIAS, OBSERVED, START, DURATION, "id", "parent_id", "resource.id", "scope.id")

# The bounds of the times at which spans end, where they were worked out.
END = "end"
_LONG = 60_000_000_000

Bounds = tuple[int, int]


@dataclass(frozen=True)
class Footer:
    """``bounds`` has the columns whose statistics are there and whole.

    Rows without a time have 0 in its place, which would pull the least time to 1970. In such a file the columns themselves
    are read once: ``bounds`` is of the rows with a time, ``observed`` of when those without were observed.
    """

    rows: int = 0
    columns: tuple[str, ...] = ()
    bounds: dict[str, Bounds] = field(default_factory=dict)
    observed: Bounds | None = None
    untimed: int = 0
    fault: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Footer:
        bounds = {name: (low, high) for name, (low, high) in data["bounds"].items()}
        observed = data["observed"]
        seen = None if observed is None else (observed[0], observed[1])
        return Footer(data["rows"], tuple(data["columns"]), bounds, seen, data["untimed"], data["fault"])


def read_footer(base: Base, path: str) -> Footer:
    """A file that cannot be read has a fault instead: the others go on."""
    try:
        with base.open(path) as source, pq.ParquetFile(source) as file:
            return _of_file(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        return Footer(fault=base.damage(error))


def _of_file(file: pq.ParquetFile) -> Footer:
    names = tuple(file.schema_arrow.names)
    leaves = {file.metadata.schema.column(i).path: i for i in range(file.metadata.num_columns)}
    found = {name: _bounds(file.metadata, leaves[name]) for name in _LOOKED_AT if name in leaves}
    bounds = {name: own for name, own in found.items() if own is not None}
    if START in bounds and DURATION in bounds and bounds[DURATION][1] > _LONG:
        ends = _ends(file)
        return Footer(file.metadata.num_rows, names, {**bounds, **({END: ends} if ends else {})})
    time = TIME if TIME in bounds else TIME_ALIAS
    if time in bounds and bounds[time][0] <= 0:
        return _without_zeros(file, names, bounds, time)
    return Footer(file.metadata.num_rows, names, bounds)


def _bounds(metadata: pq.FileMetaData, column: int) -> Bounds | None:
    """Over all row groups; None where one of them does not say. Raw values are exact to the nanosecond."""
    lows, highs = [], []
    for group in range(metadata.num_row_groups):
        chunk = metadata.row_group(group).column(column)
        known = chunk.statistics if chunk.is_stats_set else None
        if known is not None and known.has_min_max:
            lows.append(known.min_raw)
            highs.append(known.max_raw)
        elif known is None or known.null_count != chunk.num_values:
            return None
    return (min(lows), max(highs)) if lows else None


def _without_zeros(file: pq.ParquetFile, names: tuple[str, ...], bounds: dict[str, Bounds], time: str) -> Footer:
    columns = [time, *([OBSERVED] if OBSERVED in names else [])]
    table = file.read(columns=columns)
    own = table[time].cast(pa.int64())
    is_timed = pc.greater(own, 0)
    exact = _least_and_greatest(own.filter(is_timed))
    kept = {name: value for name, value in bounds.items() if name != time}
    observed = None
    if OBSERVED in names:
        seen = table[OBSERVED].cast(pa.int64()).filter(pc.invert(is_timed))
        observed = _least_and_greatest(seen.filter(pc.greater(seen, 0)))
    untimed = len(own) - (pc.sum(is_timed).as_py() or 0)
    return Footer(file.metadata.num_rows, names, {**kept, **({time: exact} if exact else {})}, observed, untimed)


def _ends(file: pq.ParquetFile) -> Bounds | None:
    """One long span would make a file look as if it covered hours: where there is one, the ends are worked out."""
    table = file.read(columns=[START, DURATION])
    return _least_and_greatest(pc.add(table[START].cast(pa.int64()), table[DURATION].cast(pa.int64())))


def _least_and_greatest(values: pa.ChunkedArray) -> Bounds | None:
    found = pc.min_max(values).as_py()
    return None if found["min"] is None else (found["min"], found["max"])


class FooterCache:
    """Footers that were read before, by path, size and time of writing; kept in a file of lines that only grows.

    It may be deleted at any time, and a line that was torn by a kill is passed over: what is missing is read again.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, tuple[int, int, Footer]] = {}
        self._new: list[str] = []
        for line in self._lines():
            self._take(line)
        self.reads = 0

    def footer(self, base: Base, file: Listed) -> Footer:
        known = self._known.get(file.path)
        if known is not None and known[:2] == (file.size, file.mtime):
            return known[2]
        self.reads += 1
        footer = read_footer(base, file.path)
        self._known[file.path] = (file.size, file.mtime, footer)
        self._new.append(json.dumps([file.path, file.size, file.mtime, footer.to_json()]))
        return footer

    def faults(self) -> dict[str, str]:
        """The files among those that were looked at that cannot be read, and why."""
        return {path: footer.fault for path, (_, _, footer) in self._known.items() if footer.fault is not None}

    def is_sound(self, path: str) -> bool:
        known = self._known.get(path)
        return known is not None and known[2].fault is None

    def save(self) -> None:
        if self._path is not None and self._new:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as out:
                out.write("\n".join(["", *self._new, ""]))
        self._new.clear()

    def _lines(self) -> Iterator[str]:
        if self._path is not None and self._path.exists():
            with self._path.open(encoding="utf-8", errors="replace") as lines:
                yield from lines

    def _take(self, line: str) -> None:
        try:
            path, size, mtime, footer = json.loads(line)
            self._known[path] = (size, mtime, Footer.from_json(footer))
        except (ValueError, KeyError, TypeError, IndexError):
            return
