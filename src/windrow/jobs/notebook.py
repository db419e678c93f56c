"""How running jobs look in a notebook or at a Python prompt: one line a job as text, a table as HTML, drawn anew while one waits."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from windrow.observe.status import JobStatus

_HEAD = ("job", "state", "batch", "rows in", "rows/s", "watermark (UTC)", "open windows", "late", "dead letters", "emitted")
_NUMBERS = frozenset({"batch", "rows in", "rows/s", "open windows", "late", "dead letters", "emitted"})


class JobsText:
    """The statuses of jobs, as something that shows itself."""

    def __init__(self, statuses: Sequence[JobStatus]) -> None:
        self._statuses = statuses

    def __repr__(self) -> str:
        return "\n".join(describe(status) for status in self._statuses)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in _HEAD)
        body = "".join(_row(status) for status in self._statuses)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def describe(status: JobStatus) -> str:
    """
    >>> describe(JobStatus("candles", "ended", 3, rows_in=7, emitted=4, dead_letters=2, has_ended=True))
    'job candles ended · batch 3 · 7 rows in · 4 emitted · 2 dead letters · every window is closed'
    """
    batch = f"batch {status.batch_id}" if status.batch_id >= 0 else "no batch yet"
    parts = [f"job {status.job} {status.state}", batch, f"{status.rows_in:,} rows in", f"{status.emitted:,} emitted"]
    parts.append(f"{status.dead_letters:,} dead letters")
    if status.has_ended:
        parts.append("every window is closed")
    elif status.watermark is not None:
        parts.append(f"watermark {_time(status.watermark)}, {status.open_windows:,} open windows")
    if status.error is not None:
        parts.append(status.error.splitlines()[0])
    return " · ".join(parts)


def _row(status: JobStatus) -> str:
    mark = "every window is closed" if status.has_ended else "" if status.watermark is None else _time(status.watermark)
    values = [
        status.job,
        status.state,
        "" if status.batch_id < 0 else str(status.batch_id),
        f"{status.rows_in:,}",
        f"{status.rows_per_second:,.0f}",
        mark,
        f"{status.open_windows:,}",
        f"{status.late:,}",
        f"{status.dead_letters:,}",
        f"{status.emitted:,}",
    ]
    cells = "".join(
        f'<td style="text-align: right">{html.escape(value)}</td>' if name in _NUMBERS else f"<td>{html.escape(value)}</td>"
        for name, value in zip(_HEAD, values, strict=True)
    )
    wide = f'<tr><td colspan="{len(_HEAD)}"><pre>{html.escape(status.error)}</pre></td></tr>' if status.error is not None else ""
    return f"<tr>{cells}</tr>{wide}"


def _time(micros: int) -> str:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    return at.isoformat(" ", timespec="milliseconds").removesuffix("+00:00").removesuffix(".000")


class Watching:
    """Shows statuses while somebody waits: in place in a notebook, on one line of a terminal, and nowhere else."""

    def __init__(self, wanted: bool | None) -> None:
        self._draw = None if wanted is False else _notebook() or (_terminal() if wanted or sys.stderr.isatty() else None)

    @property
    def is_shown(self) -> bool:
        return self._draw is not None

    def show(self, statuses: Sequence[JobStatus], *, is_last: bool = False) -> None:
        if self._draw is not None:
            self._draw(JobsText(statuses), is_last)


def _notebook() -> Callable[[JobsText, bool], None] | None:
    """None outside of a notebook: a prompt of IPython cannot draw anew."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    handle: list[Any] = []

    def draw(text: JobsText, _is_last: bool) -> None:
        if handle:
            handle[0].update(text)
        else:
            handle.append(ipython.display.display(text, display_id=True))

    return draw


def _terminal() -> Callable[[JobsText, bool], None]:
    before = ""

    def draw(text: JobsText, is_last: bool) -> None:
        nonlocal before
        line = repr(text).replace("\n", " | ")
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{line}" + ("\n" if is_last else ""))
        elif line != before:
            sys.stderr.write(f"{line}\n")
        before = line
        sys.stderr.flush()

    return draw
