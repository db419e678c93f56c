"""Finding out what a source's path stands for, before anything runs."""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from windrow.connectors.files.endings import format_of
from windrow.connectors.files.settings import SourceSettings
from windrow.errors import NotThereError, UsageError
from windrow.storage import qualified
from windrow.storage.jvm import hadoop_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GLOB = re.compile(r"[*?\[{]")
_SAMPLES = 200


@dataclass(frozen=True)
class Inputs:
    """``load`` is what Spark is told to read; ``samples`` are some of the files that are there now, by name."""

    load: str
    samples: tuple[str, ...]
    format: str


def find_inputs(spark: SparkSession, settings: SourceSettings) -> Inputs:
    address = qualified(settings.path, spark)
    path, fs = hadoop_of(spark).path(address), hadoop_of(spark).filesystem(address)
    matches = [] if _is_missing(fs, path, address) else list(fs.globStatus(path) or [])
    if not matches:
        raise _nothing_there(fs, path, settings.path)
    samples = _samples(fs, matches)
    load = address
    if len(matches) == 1 and matches[0].isFile() and not _GLOB.search(address):
        load = _as_glob(address)
    return Inputs(load, samples, _agreed_format(settings, samples))


def fingerprint(spark: SparkSession, settings: SourceSettings) -> str:
    """A digest of which files there are, how long they are and when they were written: another one means other rows."""
    address = qualified(settings.path, spark)
    path, fs = hadoop_of(spark).path(address), hadoop_of(spark).filesystem(address)
    found = []
    for match in list(fs.globStatus(path) or []):
        listing = fs.listFiles(match.getPath(), True)
        while listing.hasNext():
            entry = listing.next()
            if is_visible(str(entry.getPath().getName())):
                found.append(f"{entry.getPath().toString()} {entry.getLen()} {entry.getModificationTime()}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


def is_visible(name: str) -> bool:
    """Whether a file of that name is input: not hidden, not still being written.

    >>> [is_visible(name) for name in ("a.json", "_SUCCESS", ".a.json.crc", "a.json.tmp")]
    [True, False, False, False]
    """
    return not name.startswith(("_", ".")) and not name.endswith((".tmp", "._COPYING_"))


def _is_missing(fs: Any, path: Any, address: str) -> bool:
    # A path without wildcards may hold characters that globStatus would stumble over.
    return not _GLOB.search(address) and not fs.exists(path)


def _as_glob(address: str) -> str:
    """A single file as a pattern that only it matches: Spark streams folders and patterns, but not one file."""
    head, _, last = address.rpartition("/")
    return f"{head}/{last[:-1]}[{last[-1]}]"


def _samples(fs: Any, matches: list[Any]) -> tuple[str, ...]:
    found: list[str] = []
    for status in matches[:_SAMPLES]:
        listing = fs.listStatusIterator(status.getPath()) if status.isDirectory() else None
        if listing is None:
            found.append(str(status.getPath().toString()))
            continue
        while listing.hasNext() and len(found) < _SAMPLES:
            entry = listing.next()
            if entry.isFile() and entry.getLen() > 0:
                found.append(str(entry.getPath().toString()))
    return tuple(sorted(path for path in found if is_visible(path.rsplit("/", 1)[-1])))


def _agreed_format(settings: SourceSettings, samples: tuple[str, ...]) -> str:
    """The stated format, else the path's; else json, unless the files that are there are clearly something else."""
    if settings.format is not None:
        return settings.format
    for path in samples:
        told = format_of(path)
        if told not in (None, "json"):
            raise UsageError("WR501", f"{path.removeprefix('file:')} is not JSON lines, and no 'format' is stated", f"'format' = '{told}'")
    return "json"


def _nothing_there(fs: Any, path: Any, written: str) -> NotThereError:
    if _GLOB.search(written):
        hint = "name the folder instead of a pattern to wait for files in it"
        return NotThereError("WR500", f"no file or folder matches {written}", hint)
    parent = path.getParent()
    names: list[str] = []
    if parent is not None and fs.exists(parent):
        names = [str(status.getPath().getName()) for status in list(fs.listStatus(parent))[:_SAMPLES]]
    close = difflib.get_close_matches(str(path.getName()), names, n=1)
    hint = f'did you mean "{close[0]}"?' if close else f"make the folder first: mkdir -p {written}"
    return NotThereError("WR500", f"{written} does not exist", hint)
