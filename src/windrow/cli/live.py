"""What one sees while jobs run: a line that is drawn anew on a terminal, a plain line now and then elsewhere, or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.live import Live
from rich.text import Text

from windrow.cli.screen import say, show_micros, show_seconds
from windrow.observe.status import UP, WAITING, Holder, JobStatus, OutputStatus, TableLoad

PLAIN_EVERY = 10.0
LOADS_EVERY = 2.0
# Partitions are never quite even.
WORTH_SAYING = 10.0


class View(Protocol):
    def __enter__(self) -> View: ...
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def show(self, statuses: Sequence[JobStatus]) -> None: ...
    def say(self, line: str) -> None: ...


class Hidden:
    """For --quiet: only what is asked of the user is said."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Hidden:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def show(self, statuses: Sequence[JobStatus]) -> None: ...

    def say(self, line: str) -> None:
        say(self._console, line)


class Plain(Hidden):
    """For files and pipes: a line every ten seconds, and only when something has happened."""

    def __init__(self, console: Console, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console)
        self._now = now
        self._due = now() + PLAIN_EVERY
        self._said: list[str] = []

    def show(self, statuses: Sequence[JobStatus]) -> None:
        if self._now() < self._due:
            return
        self._due = self._now() + PLAIN_EVERY
        lines = [status_line(status) for status in statuses]
        if lines != self._said:
            self._said = lines
            for line in lines:
                self.say(line)


class Drawn(Hidden):
    """For a terminal. Shares its console with the console sink, so that rows are printed above the line."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(console=console, transient=True, auto_refresh=False)

    def __enter__(self) -> Drawn:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._live.stop()

    def show(self, statuses: Sequence[JobStatus]) -> None:
        text = "\n".join(status_line(status) for status in statuses)
        self._live.update(Text(text, style="dim"), refresh=True)


def status_line(status: JobStatus) -> str:
    """A job at a glance."""
    return " · ".join(
        [
            f"{status.job} {status.state}",
            f"batch {status.batch_id}" if status.batch_id >= 0 else "no batch yet",
            f"{status.rows_in:,} rows",
            f"{status.rows_per_second:,.0f} rows/s",
            *([f"last batch {show_seconds(status.batch_seconds)}"] if status.batch_seconds else []),
            _event_time(status),
            f"open windows {status.open_windows:,}",
            f"late {status.late:,}",
            f"dead letters {status.dead_letters:,}",
            f"emitted {status.emitted:,}",
            *(f"{own.source}: {own.safe:,} windows safe, {own.waiting:,} waiting, {own.late_rows:,} rows late" for own in status.windows),
            *_behind(status),
            *_waits(status),
            *(f"table {name} was not refreshed: {why}" for name, why in status.stale_tables.items()),
            *_unread(status),
        ]
    )


def _behind(status: JobStatus) -> list[str]:
    """Rows that are there and not read: by their number, and by how long ago the end was where they begin.

    >>> from windrow.observe.status import SourceStatus
    >>> _behind(JobStatus("j", "running", sources=(SourceStatus("orders", backlog={"0": 1500}, behind_seconds=12.0),)))
    ['orders: 1,500 rows to read, 12.0 s behind its end']
    """
    found = []
    for source in status.sources:
        rows, files = sum((source.backlog or {}).values()), source.backlog_files or 0
        left = f"{rows:,} rows to read" if rows else f"{files:,} files to read" if files else ""
        behind = source.behind_seconds or 0.0
        if left:
            found.append(f"{source.source}: {left}" + (f", {show_seconds(behind)} behind its end" if behind >= WORTH_SAYING else ""))
    return found


def _event_time(status: JobStatus) -> str:
    """How far event time has come, how old that is, and what it waits for. Old data are no slow processing, so both are said."""
    if status.has_ended:
        return "input ended"
    mark = "unset" if status.watermark is None else show_micros(status.watermark)
    notes = [] if status.lag_seconds is None else [f"event time is {show_seconds(status.lag_seconds)} behind the wall clock"]
    held = status.held_by
    if held is not None and held.reached is None:
        notes.append(f"{held_place(held)} has sent nothing yet and holds it back")
    elif held is not None and held.behind_seconds >= WORTH_SAYING:
        notes.append(f"{held_place(held)} holds it back by {show_seconds(held.behind_seconds)}")
    return f"watermark {mark}" + (f" ({'; '.join(notes)})" if notes else "")


def held_place(held: Holder) -> str:
    return held.source if held.partition is None else f"partition {held.partition} of {held.source}"


def _unread(status: JobStatus) -> list[str]:
    """
    >>> from windrow.observe.status import UnreadFile
    >>> _unread(JobStatus("j", "running", unread_files=(UnreadFile("logs", "t/a.parquet", "not a Parquet file"),)))
    ['1 file could not be read: t/a.parquet (not a Parquet file)']
    """
    if not status.unread_files:
        return []
    newest, count = status.unread_files[-1], len(status.unread_files)
    return [f"{count:,} {'file' if count == 1 else 'files'} could not be read: {newest.path} ({newest.why})"]


def _waits(status: JobStatus) -> list[str]:
    """Whom a job waits for: a source that is away, a system that fails, or an output that takes most of its time."""
    if status.state == WAITING and status.error is not None:
        return [status.error.splitlines()[0]]
    failing = [f"{one.system} {one.state}, {one.failures} failures: {one.error}" for one in status.systems if one.failures]
    slow = max(status.sink_seconds, key=lambda name: status.sink_seconds[name], default=None)
    if slow is not None and status.batch_seconds >= 1 and status.sink_seconds[slow] > status.batch_seconds / 2:
        failing.append(f"{slow} takes {status.sink_seconds[slow]:.1f} s of {status.batch_seconds:.1f} s a batch")
    return [*failing, *map(output_line, (one for one in status.outputs if one.state != UP or one.waiting_rows))]


def output_line(output: OutputStatus) -> str:
    """
    >>> output_line(OutputStatus("out", "kafka", "spill", "away", error="nobody answers", waiting_batches=2, waiting_rows=1200))
    'out is away (nobody answers): spill, 1,200 rows of 2 batches wait'
    """
    why = "" if output.error is None else f" ({output.error})"
    numbers = {
        f"{output.waiting_rows:,} rows of {output.waiting_batches:,} batches wait": output.waiting_rows,
        f"{output.failed_over:,} rows went to another output": output.failed_over,
        f"{output.dropped:,} rows dropped": output.dropped,
    }
    return ", ".join([f"{output.statement} is {output.state}{why}: {output.policy}", *(text for text, number in numbers.items() if number)])


class Loads:
    """A line now and then about tables that are being loaded, which may take a while before the first batch."""

    def __init__(self, say: Callable[[str], None], now: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._now = now
        self._due: dict[str, float] = {}

    def __call__(self, load: TableLoad) -> None:
        due = self._due.setdefault(load.table, self._now() + LOADS_EVERY)
        if load.is_done or self._now() >= due:
            self._due[load.table] = self._now() + LOADS_EVERY
            self._say(load_line(load))


def load_line(load: TableLoad) -> str:
    """
    >>> load_line(TableLoad("rates", 50_000, 200_000, 2.0))
    'loading rates: 50,000 of about 200,000 rows · 25,000 rows/s · about 6.0 s left'
    """
    if load.is_done:
        return f"loaded {load.table}: {load.rows:,} rows in {show_seconds(load.seconds)}"
    total = "" if load.total is None else f" of about {load.total:,}"
    left = "" if load.seconds_left is None else f" · about {show_seconds(load.seconds_left)} left"
    return f"loading {load.table}: {load.rows:,}{total} rows · {load.rows_per_second:,.0f} rows/s{left}"
