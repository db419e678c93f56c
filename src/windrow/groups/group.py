"""Several files together: who writes what whom else reads, circles, and what does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from windrow.groups.member import Access, Member
from windrow.groups.verdicts import Verdict, type_change
from windrow.lineage import Dataset
from windrow.model.types import UNKNOWN


@dataclass
class Place:
    """Something outside with everyone who writes or reads it."""

    dataset: Dataset
    writers: list[Access] = field(default_factory=list)
    readers: list[Access] = field(default_factory=list)


@dataclass(frozen=True)
class Conflict:
    """``kind`` is two_writers, circle, missing_column, type or format."""

    kind: str
    place: str
    text: str
    files: tuple[str, ...]
    hint: str


@dataclass(frozen=True)
class Group:
    members: tuple[Member, ...]

    def member(self, file: str) -> Member:
        return next(member for member in self.members if member.file == file)

    def places(self) -> dict[Dataset, Place]:
        found: dict[Dataset, Place] = {}
        for member in self.members:
            for access in member.reads:
                found.setdefault(access.place, Place(access.place)).readers.append(access)
            for access in member.writes:
                found.setdefault(access.place, Place(access.place)).writers.append(access)
        for pattern in (place for place in found.values() if place.dataset.is_pattern):
            for place in (place for place in found.values() if pattern.dataset.stands_for(place.dataset)):
                place.readers += pattern.readers
        return found

    def links(self) -> list[tuple[Access, Access]]:
        """Who reads what whom else writes: (writer, reader)."""
        return [(writer, reader) for place in self.places().values() for writer in place.writers for reader in place.readers]

    def circles(self) -> list[tuple[str, ...]]:
        """Files that read, in the end, what they write themselves; each once, from its first file."""
        after: dict[str, dict[str, None]] = {member.file: {} for member in self.members}
        for writer, reader in self.links():
            after[writer.file][reader.file] = None
        found: dict[frozenset[str], tuple[str, ...]] = {}
        for start in after:
            for path in _ways_back(start, after):
                found.setdefault(frozenset(path), path)
        return list(found.values())

    def conflicts(self) -> list[Conflict]:
        found = [_circle(path) for path in self.circles()]
        for place in self.places().values():
            found += [*_writers(place), *_differing(place)]
        return found


def _ways_back(start: str, after: dict[str, dict[str, None]]) -> Iterator[tuple[str, ...]]:
    """The shortest way from a file back to itself."""
    waiting: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while waiting:
        path = waiting.pop(0)
        for following in after[path[-1]]:
            if following == start:
                yield path
                return
            if following not in seen:
                seen.add(following)
                waiting.append((*path, following))


def _circle(path: tuple[str, ...]) -> Conflict:
    ways = " -> ".join((*path, path[0]))
    return Conflict("circle", "", f"rows go in a circle: {ways}", path, "make sure that a filter lets no row go round for ever")


def _writers(place: Place) -> Iterator[Conflict]:
    if len(place.writers) < 2:
        return
    who = " and ".join(str(access) for access in place.writers)
    files = tuple(dict.fromkeys(access.file for access in place.writers))
    hint = "give each an output of its own, or join them with INSERT INTO in one file"
    yield Conflict("two_writers", str(place.dataset), f"{place.dataset} is written by {who}", files, hint)


def _differing(place: Place) -> Iterator[Conflict]:
    for writer in place.writers:
        for reader in place.readers:
            yield from _of_pair(writer, reader)
    yield from _of_readers(place.readers)


def _of_pair(writer: Access, reader: Access) -> Iterator[Conflict]:
    files = tuple(dict.fromkeys((writer.file, reader.file)))
    formats = [access.options.get("format", access.options.get("value.format")) for access in (writer, reader)]
    if None not in formats and formats[0] != formats[1]:
        text = f"{writer} writes {formats[0]}, and {reader} reads {formats[1]}"
        yield Conflict("format", str(writer.place), text, files, f"'format' = '{formats[0]}' in {reader.statement}")
    if not writer.columns:
        return
    missing = [column.name for column in reader.columns if writer.column(column.name) is None]
    if missing:
        names = ", ".join(missing)
        text = f"{reader} reads {names}, which {writer} does not write"
        yield Conflict(
            "missing_column", str(writer.place), text, files, f"add {names} to {writer.statement}, or leave out in {reader.statement}"
        )
    for column in reader.columns:
        written = writer.column(column.name)
        if written is None or UNKNOWN in (written.type, column.type):
            continue
        if type_change(written.type, column.type) is Verdict.BREAKS:
            text = f"{writer} writes {column.name} as {written.type}, and {reader} reads it as {column.type}"
            yield Conflict("type", str(writer.place), text, files, f"{column.name} {written.type} in {reader.statement}")


def _of_readers(readers: Sequence[Access]) -> Iterator[Conflict]:
    """Two who read one thing as different types."""
    told: dict[str, tuple[Access, str]] = {}
    for reader in readers:
        for column in reader.columns:
            first, kind = told.setdefault(column.name.lower(), (reader, str(column.type)))
            if kind != str(column.type) and column.type != UNKNOWN:
                text = f"{first} reads {column.name} as {kind}, and {reader} as {column.type}"
                yield Conflict("type", str(reader.place), text, (first.file, reader.file), f"declare {column.name} alike in both")
