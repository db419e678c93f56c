"""What every line of a log says of where it came from, while it is known: the job, the batch, its trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_NOTHING: Mapping[str, Any] = {}
_FIELDS: ContextVar[Mapping[str, Any]] = ContextVar("windrow_log_fields", default=_NOTHING)


@contextmanager
def log_context(**fields: Any) -> Iterator[None]:
    """Within this, lines that this thread logs have these fields.

    >>> with log_context(job="shop"):
    ...     dict(log_fields())
    {'job': 'shop'}
    """
    before = _FIELDS.set({**_FIELDS.get(), **fields})
    try:
        yield
    finally:
        _FIELDS.reset(before)


def log_fields() -> Mapping[str, Any]:
    return _FIELDS.get()
