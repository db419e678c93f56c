"""WR293: HISTORY OF asks what a job has kept, which is a question of its own and no part of a job."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.query import NamedSource


def history(context: Context) -> Iterator[Diagnostic]:
    for block in context.blocks:
        for source in (block.select.source, *(join.source for join in block.select.joins)):
            if isinstance(source, NamedSource) and source.is_history:
                message = f"HISTORY OF {source.name} is asked of a job that has run, and is no stream"
                hint = f'windrow ask FILE "SELECT * FROM HISTORY OF {source.name}"; for coming rows write FROM {source.name}'
                yield Diagnostic("WR293", message, source.span, hint)
