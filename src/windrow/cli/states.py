"""``windrow state``: the versions of a job's state, what is open in one, and the way back to it. Starts no Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import Form, FormOption, Reach, SqlFile, State
from windrow.cli.files import shown_name
from windrow.cli.project import chosen_for, compile_chosen
from windrow.cli.state_option import opened_state

if TYPE_CHECKING:
    from windrow.jobs.history import JobHistory, JobVersion, OpenState

JobName = Annotated[str | None, typer.Option("--job", help="Which job, if the file has several.", metavar="NAME", show_default=False)]
Batch = Annotated[int | None, typer.Option("--batch", help="As it was after this batch; the newest if not given.", show_default=False)]
To = Annotated[int, typer.Option("--to", help="The last batch that stays.", show_default=False)]
Limit = Annotated[int, typer.Option("--limit", help="How many rows are shown; 0 shows all.", min=0)]


def list_versions(
    file: SqlFile, state: State = None, job: JobName = None, form: FormOption = Form.text, limit: Limit = 20, settings: Reach = None
) -> None:
    """List the versions of the state that are kept, newest first."""
    found = {history.job.name: history.versions() for history in histories_of(file, state, job, settings)}
    if form is Form.json:
        _print_json([{"job": name, **_fields(version)} for name, versions in found.items() for version in versions])
        return
    from windrow.cli.screen import say, screen

    console = screen()
    for name, versions in found.items():
        say(console, f"job {name}: {len(versions):,} versions")
        console.print(_version_table(versions[: limit or None]))
        if limit and len(versions) > limit:
            say(console, f"... and {len(versions) - limit:,} older ones: --limit 0 shows all")


def show_state(
    file: SqlFile,
    batch: Batch = None,
    state: State = None,
    job: JobName = None,
    form: FormOption = Form.text,
    limit: Limit = 20,
    settings: Reach = None,
) -> None:
    """Show the windows and groups that are open and the rows that wait in joins, with bounds, row counts and the size they take."""
    from windrow.cli.screen import say, screen

    console = screen()
    records: list[dict[str, Any]] = []
    for history in histories_of(file, state, job, settings):
        after, held = history.open_state(batch)
        if form is Form.json:
            records += [_record(history.job.name, after, one) for one in held]
            continue
        say(console, f"job {history.job.name} after batch {after}")
        for one in held:
            _show(one, limit)
    if form is Form.json:
        _print_json(records)


def restore_state(
    file: SqlFile,
    to: To,
    state: State = None,
    job: JobName = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    settings: Reach = None,
) -> None:
    """Take a job back to where it stood after a batch. Rows read since then are read again, and what was written of them is removed."""
    from windrow.cli.screen import say, screen
    from windrow.diagnosis.explained import counted
    from windrow.errors import UsageError

    histories = histories_of(file, state, job, settings)
    if len(histories) > 1:
        names = ", ".join(history.job.name for history in histories)
        raise UsageError(codes.BAD_VALUE, f"the file has several jobs: {names}", f"--job {histories[0].job.name}")
    history = histories[0]
    for sentence in history.lasting():
        say(screen(is_error=True), f"note: {sentence}", style="yellow")
    if not yes and not typer.confirm(f"Take job {history.job.name} back to batch {to}, and remove all that came after it?"):
        raise typer.Exit(1)
    undone = history.restore(to)
    say(screen(), f"job {history.job.name} stands after batch {to}; {counted(undone)} will run again")


def histories_of(file: str, state: str | None, job: str | None, settings: list[str] | None = None) -> list[JobHistory]:
    from windrow.errors import UsageError
    from windrow.jobs.history import JobHistory

    compiled = compile_chosen(file, chosen_for(file, None))
    jobs = [one for one in compiled.plan.jobs if job is None or one.name == job]
    if not jobs:
        names = ", ".join(one.name for one in compiled.plan.jobs)
        raise UsageError(codes.BAD_VALUE, f"there is no job {job} in {shown_name(file)}", f"its jobs: {names}" if names else "add a SELECT")
    folder = opened_state(file, state, settings)
    return [JobHistory(one, folder) for one in jobs]


def _version_table(versions: list[JobVersion]) -> Any:
    from windrow.cli.screen import show_micros, show_time, table

    made = table("batch>", "written at (UTC)", "files", "bytes>", "watermark", "rows in>", "can go back to it")
    for one in versions:
        back = "yes" if one.can_restore else "the end of the input" if one.is_end else "no: Spark's log of it is gone"
        mark = "" if one.watermark is None else show_micros(one.watermark)
        at = show_time(datetime.fromtimestamp(one.written_at, UTC))
        made.add_row(f"{one.batch_id}", at, ", ".join(one.files), f"{one.bytes:,}", mark, f"{one.rows_in:,}", back)
    return made


def _show(held: OpenState, limit: int) -> None:
    from windrow.cli.screen import say, screen, show_micros, table
    from windrow.windowing.columns import COUNT, END, FOREVER, NEVER, START

    console = screen()
    count = 0 if held.windows is None else held.windows.height
    say(console, f"\n{held.statement}: {count:,} open, {held.bytes:,} bytes, held by the {held.home}")
    if held.windows is None:
        return
    keys = [name for name in held.windows.columns if name not in (START, END, COUNT)]
    made = table(*keys, "from", "to", "rows>")
    ordered = held.windows.sort(START, *keys, nulls_last=False)
    for row in (ordered.head(limit) if limit else ordered).iter_rows(named=True):
        bounds = ["" if row[name] in (None, FOREVER, NEVER) else show_micros(row[name]) for name in (START, END)]
        made.add_row(*("NULL" if row[key] is None else str(row[key]) for key in keys), *bounds, f"{row[COUNT]:,}")
    console.print(made)
    if limit and count > limit:
        say(console, f"... and {count - limit:,} more: --limit 0 shows all, --format json gives them to programs")


def _record(job: str, batch_id: int, held: OpenState) -> dict[str, Any]:
    windows = [] if held.windows is None else held.windows.to_dicts()
    return {"job": job, "batch": batch_id, "statement": held.statement, "home": held.home, "bytes": held.bytes, "open": windows}


def _fields(version: JobVersion) -> dict[str, Any]:
    return {name: getattr(version, name) for name in version.__dataclass_fields__}


def _print_json(records: list[dict[str, Any]]) -> None:
    import json

    print(json.dumps(records, indent=2, ensure_ascii=False, default=str))
