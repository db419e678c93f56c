"""The end of a run in words and numbers: where every row went, and whether the numbers add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from windrow.cli.live import WORTH_SAYING, held_place
from windrow.cli.screen import meaning_of, say, show_seconds, table
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import ENDED, FAILED, STOPPED, JobStatus, OutputStatus

_MOST_FILES = 10


@dataclass(frozen=True)
class Finish:
    """How a run ended. ``again`` is the command that goes on from there, ``letters`` the one that lists dead letters."""

    statuses: tuple[JobStatus, ...]
    folders: dict[str, str]
    mode: str
    again: str
    letters: str


def print_report(finish: Finish, console: Console) -> None:
    for status in finish.statuses:
        say(console, "")
        say(console, f"job {status.job}: {_ending(status, finish)}", style="bold")
        if status.ledger.rows_in or status.ledger.statements or status.unread_files:
            _print_ledger(status.ledger, finish.folders.get(status.job, ""), finish, console)
        for line in unread_lines(status):
            say(console, line, style="bold red")
        for output in status.outputs:
            if output.waiting_rows:
                say(console, waiting_line(output, finish.folders.get(status.job, "")), style="yellow")
        for note in left_out(status):
            say(console, f"note: {note}", style="yellow")


def _ending(status: JobStatus, finish: Finish) -> str:
    where = f"after batch {status.batch_id}" if status.batch_id >= 0 else "before the first batch"
    if status.state == FAILED and status.error is not None and "WR820" in status.error:
        return f"refused the new rows {where}; its windows were closed by --until-end"
    if status.state == FAILED:
        return f"failed {where}; what was committed stays, and the same command goes on from there: {finish.again}"
    if status.state == STOPPED:
        return f"stopped {where}; windows stay open, and the same command goes on from there: {finish.again}"
    if status.state == ENDED and finish.mode == "once":
        return f"took in what was there, {where}; windows stay open, and the same command goes on from there"
    if status.state == ENDED:
        return f"reached the end of its input {where}; every window is closed"
    return f"{status.state} {where}"


def left_out(status: JobStatus) -> list[str]:
    """What is missing from the results, or waits, although the ledger adds up: tables that are old, a partition that holds the clock."""
    found = [f"table {name} was not refreshed, the rows of its last load were used: {why}" for name, why in status.stale_tables.items()]
    found += [
        f"{own.source}: {own.waiting:,} windows with data still wait, {own.late_rows:,} rows came after theirs was taken"
        for own in status.windows
        if own.waiting or own.late_rows
    ]
    held = status.held_by
    if held is not None and not status.has_ended and held.reached is None:
        found.append(f"{held_place(held)} has sent nothing, so no window could close")
    elif held is not None and not status.has_ended and held.behind_seconds >= WORTH_SAYING:
        found.append(f"{held_place(held)} holds the watermark back by {show_seconds(held.behind_seconds)}: windows up to there stay open")
    return found


def _print_ledger(ledger: Ledger, folder: str, finish: Finish, console: Console) -> None:
    for part in _ledger_tables(ledger, console.width):
        console.print(part)
    dead = _reasons((name, account.dead) for name, account in _accounts(ledger))
    dropped = _reasons((name, account.dropped) for name, account in _accounts(ledger))
    if dead:
        say(
            console,
            f"dead letters: {sum(dead.values()):,}, kept in {folder}/dead_letters"
            + (f", listed by: {finish.letters}" if finish.letters else ""),
        )
        console.print(_reason_table(dead))
    unsent = _reasons((name, account.unsent) for name, account in _accounts(ledger))
    if unsent:
        say(console, f"not written, because their output was away: {sum(unsent.values()):,}")
        console.print(_reason_table(unsent))
    if dropped:
        say(console, f"dropped, as the options say: {sum(dropped.values()):,}")
        console.print(_reason_table(dropped))
    if ledger.violations:
        say(console, f"rows that violate a constraint: {sum(ledger.violations.values()):,}")
        console.print(_violations_table(ledger))
    if ledger.is_balanced:
        which = " that could be read" if any(account.unread_files for account in ledger.sources.values()) else ""
        counted = f"each of {ledger.rows_in:,} rows{which} was aggregated or passed on, filtered out, set aside or dropped"
        say(console, f"The ledger adds up: {counted}.", style="green")
    else:
        say(console, "THE LEDGER DOES NOT ADD UP. This is a fault of Windrow: please report it with this table.", style="bold red")


def unread_lines(status: JobStatus) -> list[str]:
    """
    >>> from windrow.observe.status import JobStatus, UnreadFile
    >>> unread_lines(JobStatus("j", "ended", unread_files=(UnreadFile("logs", "t/a.parquet", "not a Parquet file"),)))
    ['1 file could not be read, and its rows are in no number above:', '  logs: t/a.parquet: not a Parquet file']
    """
    files = status.unread_files
    if not files:
        return []
    count = "1 file could not be read, and its" if len(files) == 1 else f"{len(files):,} files could not be read, and their"
    more = len(files) - _MOST_FILES
    shown = [f"  {one.source}: {one.path}: {one.why}" for one in files[:_MOST_FILES]]
    return [f"{count} rows are in no number above:", *shown, *([f"  and {more:,} more"] if more > 0 else [])]


def waiting_line(output: OutputStatus, folder: str) -> str:
    """
    >>> waiting_line(OutputStatus("out", "kafka", "spill", waiting_batches=2, waiting_rows=1200), ".windrow/job")
    'out: 1,200 rows of 2 batches wait for kafka, in .windrow/job/spill; the next run delivers them'
    """
    what = f"{output.waiting_rows:,} rows of {output.waiting_batches:,} batches"
    return f"{output.statement}: {what} wait for {output.connector}, in {folder}/spill; the next run delivers them"


def _violations_table(ledger: Ledger) -> Table:
    made = table("constraint", "count>", "of", "and then")
    for of, account in _accounts(ledger):
        for name, count in sorted(account.violations.items()):
            made.add_row(name, f"{count:,}", of, "set aside: among the dead letters or the dropped rows above")
        for name, count in sorted(account.warned.items()):
            made.add_row(name, f"{count:,}", of, "passed on, with this warning")
    return made


def _accounts(ledger: Ledger) -> list[tuple[str, Account]]:
    return [*ledger.sources.items(), *ledger.statements.items()]


def _ledger_tables(ledger: Ledger, width: int) -> list[Table]:
    """One column a source or statement, one line a number. What does not fit beside the labels stands in a table below."""
    sources = set(ledger.sources)
    columns = [_Column("source" if name in sources else "statement", name, account) for name, account in _accounts(ledger)]
    shown = [(label, number) for label, number in _LINES if label in _ALWAYS or any(number(one.account) for one in columns)]
    labels = max(len(label) for label in (_TITLE, *(label for label, _ in shown)))
    tables: list[Table] = []
    rest = columns
    while rest:
        fitting, room = 0, width - labels
        for one in rest:
            room -= one.width([number for _, number in shown]) + _GAP
            if room < 0 and fitting:
                break
            fitting += 1
        tables.append(_ledger_table(rest[:fitting], shown))
        rest = rest[fitting:]
    return tables


@dataclass(frozen=True)
class _Column:
    kind: str
    name: str
    account: Account

    def width(self, numbers: list[_Number]) -> int:
        return max(len(self.kind), len(self.name), len(_balance(self.account)), *(len(f"{number(self.account):,}") for number in numbers))


def _ledger_table(columns: list[_Column], lines: list[tuple[str, _Number]]) -> Table:
    made = table(_TITLE, *(f"{one.kind}\n{one.name}>" for one in columns))
    # Without its labels the table says nothing, however narrow the screen is.
    made.columns[0].no_wrap = True
    made.columns[0].min_width = max(len(label) for label in (_TITLE, *(label for label, _ in lines)))
    for label, number in lines:
        made.add_row(label, *(f"{number(one.account):,}" for one in columns))
    made.add_row("adds up", *(_balance(one.account) for one in columns))
    return made


_Number = Callable[[Account], int]
_TITLE = "where the rows went"
# Between two columns.
_GAP = 3
_LINES: tuple[tuple[str, _Number], ...] = (
    ("rows in", lambda account: account.rows_in),
    ("= aggregated or passed on", lambda account: account.passed),
    ("+ filtered out", lambda account: account.filtered),
    ("+ dead letters", lambda account: sum(account.dead.values())),
    ("+ dropped", lambda account: sum(account.dropped.values())),
    ("of these late, as corrections", lambda account: account.late_corrected),
    ("of these late, into the next window", lambda account: account.late_included),
    ("of these behind the watermark", lambda account: account.late_warned),
    ("rows emitted", lambda account: account.emitted),
    ("of these refused by the output", lambda account: account.refused),
    ("of these first to the state folder", lambda account: account.spilled),
    ("of these to another output", lambda account: account.failed_over),
    ("files not read", lambda account: account.unread_files),
    ("of these not written", lambda account: sum(account.unsent.values())),
)
_ALWAYS = ("rows in", "= aggregated or passed on", "+ filtered out", "+ dead letters")


def _balance(account: Account) -> str:
    return "yes" if account.is_balanced else f"NO: {account.rows_in - account.accounted:+,}"


def _reasons(counts: Iterable[tuple[str, Counter[str]]]) -> Counter[tuple[str, str]]:
    return Counter({(code, name): count for name, own in counts for code, count in own.items() if count})


def _reason_table(reasons: Counter[tuple[str, str]]) -> Table:
    made = table("code", "count>", "by", "because")
    for (code, name), count in sorted(reasons.items()):
        made.add_row(code, f"{count:,}", name, meaning_of(code))
    return made
