"""``--log-format`` and ``--log-file``: logs for the time of a run, where they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from windrow.cli.arguments import Form


@contextmanager
def logs(form: Form | None, file: Path | None) -> Iterator[None]:
    if form is None and file is None:
        yield
        return
    from windrow.observe.logs import set_up

    undo = set_up(form is Form.json, file)
    try:
        yield
    finally:
        undo()
