"""Reading case files, strictly: a key that means nothing is an error, not a silently weaker test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.errors import UsageError
from windrow.sql import parse_duration

if TYPE_CHECKING:
    from windrow.config import Environment

KEYS = {"name", "sql", "sql_file", "input", "expected", "compare", "tolerance", "batches", "delay", "tables", "partitions"}
MARKERS = {"_advance_watermark_to", "_advance_clock", "_batch", "_restart", "_end"}


@dataclass(frozen=True)
class Case:
    """One case as written. ``streams`` is None where the input is a plain list."""

    name: str
    sql: str
    rows: tuple[Mapping[str, Any], ...] | None
    streams: Mapping[str, tuple[Mapping[str, Any], ...]] | None
    expected: Any
    compare: str = "ordered"
    tolerance: float = 1e-9
    batches: str = "per_row"
    delay: int = 0
    tables: tuple[str, ...] = ()
    partitions: int = 1
    file: str = ""
    # The file of a project that it runs, in the place of ``sql``, and the environment that holds there.
    sql_file: Path | None = None
    environment: Environment | None = None

    @property
    def expects_error(self) -> bool:
        return isinstance(self.expected, dict) and set(self.expected) == {"error"}


def load_cases(path: Path, environment: Environment | None = None) -> list[Case]:
    """Every case of a ``.jsonl`` file (one object a line) or ``.json`` file (an object or a list).

    Cases that run a file of a project do so in an environment; without one, as they are, with what they include.
    """
    return [replace(case_from(data, str(path), place), environment=environment) for data, place in _objects(path)]


def _objects(path: Path) -> Iterator[tuple[Any, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UsageError(
            "WR901", f"cannot read the case file {path}: {reason}", "give the path of a .jsonl file with one case a line"
        ) from error
    if path.suffix == ".json":
        data = _parse(text, str(path))
        if isinstance(data, dict):
            data = [_with_query_beside(data, path)]
        yield from ((item, f"{path}, case {i + 1}") for i, item in enumerate(data))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _parse(line, f"{path}, line {number}"), f"{path}, line {number}"


def _with_query_beside(data: dict[str, Any], path: Path) -> dict[str, Any]:
    """A case that is a file of its own may leave its SQL to the .sql file of the same name, and is named after it."""
    query = path.with_suffix(".sql")
    if "sql" in data or not query.is_file():
        return data
    return {"name": path.stem, "sql": query.read_text(encoding="utf-8"), **data}


def _parse(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError("WR902", f"{place} is not JSON: {error}", "one JSON object a line") from error


def case_from(data: Any, file: str, place: str) -> Case:
    if not isinstance(data, dict):
        raise UsageError("WR902", f"{place} is not a JSON object", '{"name": ..., "sql": ..., "input": [...], "expected": [...]}')
    unknown = set(data) - KEYS
    missing = {"name", *(() if "sql_file" in data else ("sql",)), "input", "expected"} - set(data)
    if unknown or missing:
        what = f"unknown key {sorted(unknown)[0]!r}" if unknown else f"the key {sorted(missing)[0]!r} is missing"
        raise UsageError("WR903", f"{place}: {what}", f"a case has the keys {', '.join(sorted(KEYS))}")
    _require("sql" not in data or "sql_file" not in data, place, "it has both sql and sql_file", "keep one of them")
    given, batches, compare = data["input"], data.get("batches", "per_row"), data.get("compare", "ordered")
    delay = parse_duration(str(data.get("delay", "0s")))
    _require(batches in ("per_row", "single", "marked"), place, f"batches is {batches!r}", "per_row, single or marked")
    known = compare in ("ordered", "any") or compare.startswith("latest_per_key:")
    _require(known, place, f"compare is {compare!r}", "ordered, any or latest_per_key:a,b")
    _require(delay is not None, place, f"delay {data.get('delay')!r} is no duration", "5s")
    _require(isinstance(given, list | dict), place, "input is neither a list nor an object", "[row, ...]")
    is_list = isinstance(given, list)
    return Case(
        name=str(data["name"]),
        sql=data.get("sql", ""),
        rows=tuple(given) if is_list else None,
        streams=None if is_list else {name: tuple(rows) for name, rows in given.items()},
        expected=data["expected"],
        compare=compare,
        tolerance=float(data.get("tolerance", 1e-9)),
        batches=batches,
        delay=delay or 0,
        tables=tuple(data.get("tables", ())),
        partitions=int(data.get("partitions", 1)),
        file=file,
        sql_file=Path(file).parent / data["sql_file"] if "sql_file" in data else None,
    )


def _require(holds: bool, place: str, what: str, hint: str) -> None:
    if not holds:
        raise UsageError("WR903", f"{place}: {what}", hint)
