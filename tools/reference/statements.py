"""The page of statements and clauses, from docs/reference/statements.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from tools.reference.markdown import DOCS, NOTICE

DATA = DOCS / "reference" / "statements.toml"
_ABOUT = (
    "Every statement and clause: how it is written, what it does, and an example that a test checks and plans. `[...]` may be left out, "
    "`|` stands between choices. The examples read the streams at the top of [SQL](sql.md). In tables: [functions](functions.md), "
    "[options of sources and queries](connectors.md), [errors](errors.md)."
)


@dataclass(frozen=True)
class Entry:
    title: str
    syntax: str
    about: str
    sql: str


@dataclass(frozen=True)
class Section:
    title: str
    about: str
    entries: tuple[Entry, ...]


def load() -> tuple[Section, ...]:
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return tuple(
        Section(section["title"], section["about"], tuple(Entry(**{**entry, "sql": entry["sql"].strip()}) for entry in section["entry"]))
        for section in data["section"]
    )


def reference_page() -> str:
    return "\n\n".join(["# Reference of statements and clauses", NOTICE, _ABOUT, *_parts()]) + "\n"


def _parts() -> Iterator[str]:
    for section in load():
        yield f"## {section.title}\n{section.about}"
        for entry in section.entries:
            yield f"### {entry.title}\n```text\n{entry.syntax}\n```\n{entry.about}\n\n```sql\n{entry.sql}\n```"
