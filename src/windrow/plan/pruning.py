"""Columns that no statement names are not read where the connector can leave them out, and not decoded where rows are text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace

from windrow.connectors.registry import CONNECTORS
from windrow.model.expr import Call, Node, Star, children
from windrow.model.policies import FieldPolicy
from windrow.model.statement import Script
from windrow.model.types import ColumnDef
from windrow.plan.stages import Aggregate, Read, Stage

_WORD = re.compile(r"\w+")


def prune_reads(stages: Mapping[str, Stage], script: Script) -> dict[str, Stage]:
    """Every word of a script counts as a name, so what is left out is certainly not asked for. A star asks for everything."""
    if not any(isinstance(stage, Read) for stage in stages.values()) or any(map(_has_star, script.statements)):
        return dict(stages)
    words = {word.lower() for statement in script.statements for word in _words(statement)}
    taken_whole = {name for stage in stages.values() if not isinstance(stage, Aggregate) for name in stage.inputs}
    return {name: _pruned(stage, words, name in taken_whole) if isinstance(stage, Read) else stage for name, stage in stages.items()}


def _pruned(read: Read, words: set[str], is_taken_whole: bool) -> Read:
    """What groups rows hands those it sets aside on as they were read, so it asks for no more than it names."""
    kept = tuple(column for column in read.columns if column.name.lower() in words or column.name == read.time.column)
    if CONNECTORS[read.connector].columns is not None:
        return replace(read, columns=kept)
    # A value that does not fit counts in columns that nobody asks for, too, if it costs the row.
    judged = tuple(column.name for column in read.columns if column in kept or not column.nullable)
    if is_taken_whole or read.bad_fields is FieldPolicy.DEAD_LETTER or len(judged) == len(read.columns):
        return read
    return replace(read, projected_columns=judged)


def _has_star(node: Node) -> bool:
    """Outside of COUNT(*), which asks for no column."""
    if isinstance(node, Star):
        return True
    return any(_has_star(child) for child in children(node) if not (isinstance(node, Call) and isinstance(child, Star)))


def _words(value: object) -> Iterator[str]:
    """Of everything but what declares a column. An option may hold an expression; a name with other characters in it counts whole, too."""
    if isinstance(value, str):
        yield from (value, *_WORD.findall(value))
    elif isinstance(value, tuple | list | frozenset):
        for item in value:
            yield from _words(item)
    elif isinstance(value, Mapping):
        yield from _words(tuple(value.items()))
    elif is_dataclass(value) and not isinstance(value, ColumnDef):
        for field in fields(value):
            yield from _words(getattr(value, field.name))
