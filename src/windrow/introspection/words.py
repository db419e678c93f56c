"""What could come next in a text: keywords, streams and tables, columns, functions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from windrow.catalog import Catalog
from windrow.catalog.functions import functions, plugin_functions
from windrow.model.system import SYSTEM_COLUMNS
from windrow.model.window_kinds import KINDS
from windrow.sql.words import CLAUSES, RESERVED, STATEMENTS, WINDOW_CLAUSES, quote_name

_MORE = "STREAM TABLE FUNCTION STREAMS TABLES FUNCTIONS JOBS INTO CHANGES FINAL DESC IF EXISTS".split()
_PHRASES = (*STATEMENTS, *CLAUSES, *WINDOW_CLAUSES, *(kind.word for kind in KINDS))
KEYWORDS = tuple(sorted({word for phrase in _PHRASES for word in phrase.split()} | RESERVED | set(_MORE)))
_WORD = re.compile(r"[\w\\?`]*$")
# After these only a stream or table can stand.
_BEFORE_RELATION = re.compile(r"(?:\b(?:FROM|JOIN|INTO|DESCRIBE|DESC|DROP\s+STREAM|DROP\s+TABLE)|\\d)\s+[\w`]*$", re.IGNORECASE)


@dataclass(frozen=True)
class Word:
    text: str
    kind: str


def completions(text: str, catalog: Catalog, commands: Sequence[str] = ()) -> tuple[str, list[Word]]:
    """The word under way at the end of a text, and what it could become. ``commands`` are those that a shell has besides.

    >>> word, found = completions("SHOW STR", Catalog())
    >>> word, [each.text for each in found][:2]
    ('STR', ['STREAM', 'STREAMS'])
    """
    match = _WORD.search(text)
    word = match[0] if match is not None else ""
    start = word.lstrip("`").lower()
    found = [each for each in _candidates(text, word, catalog, commands) if each.text.lstrip("`").lower().startswith(start)]
    return word, list(dict.fromkeys(found))


def _candidates(text: str, word: str, catalog: Catalog, commands: Sequence[str]) -> Iterator[Word]:
    if text.lstrip().startswith("\\") and text.lstrip() == word:
        yield from (Word(command, "command") for command in commands)
        return
    relations = [Word(quote_name(relation.name), relation.kind) for relation in catalog.relations.values()]
    if _BEFORE_RELATION.search(text):
        yield from relations
        return
    if not word:
        return
    for relation in catalog.relations.values():
        yield from (Word(quote_name(column.name), str(column.type)) for column in relation.columns)
    yield from relations
    yield from (Word(keyword, "") for keyword in KEYWORDS)
    yield from (Word(column.name, str(column.type)) for column in SYSTEM_COLUMNS)
    known = {**catalog.own_functions, **plugin_functions(), **functions()}
    yield from (Word(f"{name.upper()}(", each.kind.value) for name, each in known.items())
