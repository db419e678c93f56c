"""``windrow receiver``: how far the OTAP sources of a job are, what came too late, and reading windows again. Starts no Spark."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli.arguments import Form, FormOption, SqlFile, State
from windrow.cli.files import shown_name
from windrow.cli.project import chosen_for, compile_chosen
from windrow.cli.state_option import opened_state
from windrow.cli.times import option_time, show_nanos

if TYPE_CHECKING:
    from windrow.jobs.receivers import JobReceivers, ReceiverStatus

From = Annotated[
    str, typer.Option("--from", help="The first window to read again holds this time (ISO 8601).", metavar="TIME", show_default=False)
]
To = Annotated[
    str | None, typer.Option("--to", help="Up to this time; what came after is read again as well.", metavar="TIME", show_default=False)
]


def show_status(file: SqlFile, state: State = None, form: FormOption = Form.text) -> None:
    """Show how far each OTAP source is: windows done, safe and waiting, late and unreadable files, bytes read."""
    from windrow.cli.screen import say, screen

    found = [(own.job.name, read.name, own.status(read)) for own in _receivers(file, state) for read in own.reads]
    if form is Form.json:
        _print_json([{"job": job, "source": source, **asdict(status)} for job, source, status in found])
        return
    console = screen()
    for job, source, status in found:
        say(console, f"{source} of job {job}")
        console.print(_facts(status))
        for path, fault in sorted(status.left_out.items()):
            say(console, f"left out: {path}: {fault}")


def list_late(file: SqlFile, state: State = None, form: FormOption = Form.text) -> None:
    """List the rows that came after their window was handed over, by file and window."""
    from windrow.cli.screen import say, screen, show_micros, table

    found = [(own.job.name, read.name, one) for own in _receivers(file, state) for read in own.reads for one in own.late(read)]
    if form is Form.json:
        _print_json([{"job": job, "source": source, **asdict(one)} for job, source, one in found])
        return
    console = screen()
    if not found:
        say(console, "nothing came too late")
        return
    made = table("source", "window", "rows>", "noticed at", "file")
    for _, source, one in found:
        made.add_row(source, show_micros(one.window.start // 1000), f"{one.rows:,}", show_micros(one.noticed_at // 1000), one.file)
    console.print(made)
    rows, files = sum(one.rows for _, _, one in found), len({one.file for _, _, one in found})
    first = min(one.window.start for _, _, one in found)
    say(console, f"{rows:,} rows of {files:,} files; to take them in: windrow receiver reprocess {file} --from {show_nanos(first)}")


def reprocess_windows(
    file: SqlFile,
    start: From,
    until: To = None,
    state: State = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Take a job back to before a window, so that its next run reads that window again, with the files that are there now."""
    from windrow.cli.screen import say, screen, show_micros

    console = screen()
    for own in _receivers(file, state):
        planned = own.plan_reprocessing(option_time("--from", start), None if until is None else option_time("--to", until))
        bounds = f"from {show_micros(planned.start // 1000)} to {show_micros(planned.until // 1000)}"
        say(console, f"job {own.job.name} goes back to batch {planned.back_to}: {planned.batches:,} batches run again, windows {bounds}")
        say(console, f"{sum(one.rows for one in planned.late):,} late rows will be taken in; what was written of these windows is removed")
        if not yes and not typer.confirm("Go back?"):
            raise typer.Exit(1)
        own.reprocess(planned)
        say(console, f"done; go on with: windrow run {file}" + (f" --state {state}" if state else ""))


def _receivers(file: str, state: str | None) -> list[JobReceivers]:
    from windrow.errors import UsageError
    from windrow.jobs.receivers import OTAP, JobReceivers

    compiled = compile_chosen(file, chosen_for(file, None))
    jobs = [job for job in compiled.plan.jobs if any(read.connector == OTAP for read in job.reads)]
    if not jobs:
        raise UsageError("WR885", f"{shown_name(file)} reads no OTAP source", "CREATE STREAM logs WITH ('connector' = 'otap', ...)")
    folder = opened_state(file, state)
    return [JobReceivers(job, folder) for job in jobs]


def _facts(status: ReceiverStatus) -> Any:
    from windrow.cli.screen import show_micros, table

    made = table("what", "value")
    done = "nothing yet" if status.done is None else show_micros(status.done // 1000)
    made.add_row("windows handed over up to", done)
    made.add_row("windows done, and in work", f"{status.windows_done:,}, {status.in_work:,}")
    made.add_row("windows with data that are safe now", f"{status.safe:,}")
    made.add_row("windows with data that are waiting", f"{status.waiting:,}")
    made.add_row("rows handed over", f"{status.rows:,}")
    made.add_row("rows whose resource is not certain", f"{status.ambiguous:,}")
    made.add_row("late", f"{status.late_rows:,} rows of {status.late_files:,} files")
    made.add_row("files of the table", f"{status.files:,}, {status.bytes_on_disk:,} bytes; {len(status.left_out):,} left out")
    made.add_row("bytes read, with attributes", f"{status.bytes_read:,}")
    if status.missing:
        made.add_row("tables that were missing", ", ".join(status.missing))
    return made


def _print_json(records: list[dict[str, Any]]) -> None:
    import json

    print(json.dumps(records, indent=2, ensure_ascii=False))
