"""Which files hold the rows of a window, and which their attributes and parents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from windrow.otap.file_names import range_of_name
from windrow.otap.footers import DURATION, END, START, TIME, TIME_ALIAS, Bounds, Footer, FooterCache
from windrow.otap.layout import Base, Listed
from windrow.otap.timing import Timing, Window

SpanTime = Literal["end", "start"]
ByPart = dict[str, list[tuple[Listed, Bounds | None]]]

_NO_TIMES = "NoTimestampMetadata: neither its footer nor its name says which times it holds"


@dataclass(frozen=True)
class TimeRule:
    """What the time of a row is. A log without one counts when it was observed, if ``falls_back``; a span when it ended."""

    span_time: SpanTime = "end"
    falls_back: bool = True


@dataclass(frozen=True)
class DataFile:
    """A file of a table with times. ``times`` is None where nothing says which times it holds: ``fault`` says why."""

    listed: Listed
    footer: Footer
    times: Bounds | None
    fault: str | None = None

    @property
    def path(self) -> str:
        return self.listed.path


class Discovery:
    """A base folder as it is now; what was read of a file's footer is not read again."""

    def __init__(self, base: Base, cache: FooterCache, timing: Timing, rule: TimeRule) -> None:
        self._base = base
        self._cache = cache
        self._timing = timing
        self._rule = rule
        self._known: dict[str, DataFile] = {}
        # What was found last, and in which files, of tables whose files are all in order.
        self._by_id: dict[tuple[str, str], tuple[list[Listed], ByPart]] = {}

    def timed_files(self, table: str) -> list[DataFile]:
        """The files of a table whose rows have times, each with the range of them."""
        found = [self._file(file) for file in self._base.list_table(table)]
        self._cache.save()
        return found

    def files_by_id(self, table: str, column: str) -> ByPart:
        """The readable files of a table by partition, with the ids that stand in a column, where the footer says."""
        listing = self._base.list_table(table)
        before, known = self._by_id.get((table, column), ([], {}))
        if listing == before:
            return known
        found: ByPart = {}
        for file in listing:
            footer = self._cache.footer(self._base, file)
            if footer.fault is None:
                self._base.trust(file)
                found.setdefault(file.part_id, []).append((file, footer.bounds.get(column)))
        self._cache.save()
        # A file that cannot be read is looked at again: it may have been written half.
        if sum(map(len, found.values())) == len(listing):
            self._by_id[table, column] = listing, found
        return found

    def _file(self, file: Listed) -> DataFile:
        known = self._known.get(file.path)
        if known is None or known.listed != file:
            known = self._known[file.path] = self._judged(file)
        return known

    def _judged(self, file: Listed) -> DataFile:
        footer = self._cache.footer(self._base, file)
        if footer.fault is not None:
            return DataFile(file, footer, None, f"unreadable: {footer.fault}")
        self._base.trust(file)
        times = times_of(footer, self._rule)
        if times is None and footer.rows:
            times = range_of_name(file.path.rpartition("/")[2], self._timing)
        return DataFile(file, footer, times, _NO_TIMES if times is None and footer.rows else None)


def times_of(footer: Footer, rule: TimeRule) -> Bounds | None:
    """The range of times by the footer alone. Where it cannot be exact it is wider: rows are looked at one by one anyway."""
    bounds = footer.bounds
    if START in footer.columns and DURATION in footer.columns:
        if START not in bounds or (rule.span_time == "end" and DURATION not in bounds):
            return None
        if rule.span_time == "end" and END in bounds:
            return bounds[END]
        longest = max(bounds[DURATION][1], 0) if rule.span_time == "end" else 0
        return bounds[START][0], bounds[START][1] + longest
    own = bounds.get(TIME) or bounds.get(TIME_ALIAS)
    if not footer.untimed or not rule.falls_back or footer.observed is None:
        return own
    if own is None:
        return footer.observed
    return min(own[0], footer.observed[0]), max(own[1], footer.observed[1])


def covering(files: Iterable[DataFile], window: Window) -> list[DataFile]:
    """The files that may hold a row of a window."""
    return [file for file in files if file.times is not None and window.overlaps(*file.times)]


def with_ids(files: Iterable[tuple[Listed, Bounds | None]], ids: Bounds | None) -> list[Listed]:
    """The files that may hold one of the ids from the first to the last; a file that does not say may."""
    if ids is None:
        return []
    return [file for file, own in files if own is None or (own[0] <= ids[1] and own[1] >= ids[0])]
