"""What could stand at the cursor of an editor: the words of the shell, over the statements of the text that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windrow.catalog import Catalog, build_catalog
from windrow.errors import WindrowError
from windrow.introspection.words import completions
from windrow.model.place import SourceText
from windrow.server.secrets import stand_ins
from windrow.sql import read_source, substitute, unaffected

_MOST = 50


def complete(sql: str, at: int, values: Mapping[str, str]) -> dict[str, Any]:
    """The word under way, and what it could become; ``values`` are what ``${NAME}`` stands for."""
    word, found = completions(sql[:at], _catalog(sql, values))
    return {"word": word, "words": [{"text": each.text, "kind": each.kind} for each in found[:_MOST]]}


def _catalog(sql: str, values: Mapping[str, str]) -> Catalog:
    """Of what can be read: while somebody writes, something is always wrong."""
    try:
        text = substitute(sql, stand_ins([sql], values), "query.sql")
    except WindrowError:
        text = sql
    try:
        return build_catalog(unaffected(read_source(SourceText(text, "query.sql"))))
    except WindrowError:
        return Catalog()
