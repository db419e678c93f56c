"""Columns that no statement names are not read where the connector can leave them out, and not decoded where rows are text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

from windrow.connectors.registry import CONNECTORS
from windrow.model.expr import Call, Node, Star, children
from windrow.model.statement import Script
from windrow.plan.stages import Read, Stage


def prune_reads(stages: Mapping[str, Stage], script: Script) -> dict[str, Stage]:
    """Every word of a script counts as a name, so what is left out is certainly not asked for. A star asks for everything."""
    if not any(isinstance(stage, Read) for stage in stages.values()) or any(map(_has_star, script.statements)):
        return dict(stages)
    words = {word.lower() for statement in script.statements for word in _words(statement)}
    return {name: _pruned(stage, words) if isinstance(stage, Read) else stage for name, stage in stages.items()}


def _pruned(read: Read, words: set[str]) -> Read:
    kept = tuple(column for column in read.columns if column.name.lower() in words or column.name == read.time.column)
    if CONNECTORS[read.connector].columns is not None:
        return replace(read, columns=kept)
    return read if len(kept) == len(read.columns) else replace(read, asked=tuple(column.name for column in kept))


def _has_star(node: Node) -> bool:
    """Outside of COUNT(*), which asks for no column."""
    if isinstance(node, Star):
        return True
    return any(_has_star(child) for child in children(node) if not (isinstance(node, Call) and isinstance(child, Star)))


def _words(node: Node) -> Iterator[str]:
    for field in fields(node):
        value = getattr(node, field.name)
        yield from (word for word in (value if isinstance(value, tuple) else (value,)) if isinstance(word, str))
    for child in children(node):
        yield from _words(child)
