"""``windrow dead-letters``: the rows that a job set aside, why, and the way back into the job. Starts no Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import Form, FormOption, Reach, SqlFile, State, Target
from windrow.cli.letter_view import export_records, show_job, show_one
from windrow.cli.state_option import opened_state

if TYPE_CHECKING:
    from rich.console import Console

    from windrow.jobs.letters import JobLetters, LetterFilter

Code = Annotated[list[str] | None, typer.Option("--code", help="Only those with this code, such as WR701; repeatable.", metavar="CODE")]
By = Annotated[str | None, typer.Option("--by", help="Only those that this source or statement set aside.", metavar="NAME")]
Rule = Annotated[str | None, typer.Option("--rule", help="Only those of this rule.", metavar="NAME")]
Held = Annotated[bool, typer.Option("--held", help="Those that a rule holds for review as well.")]
Since = Annotated[str | None, typer.Option("--since", help="Only rows that arrived at or after this time.", metavar="TIME")]
Until = Annotated[str | None, typer.Option("--until", help="Only rows that arrived before this time.", metavar="TIME")]
All = Annotated[bool, typer.Option("--all", help="Those that were replayed as well.")]
Limit = Annotated[int, typer.Option("--limit", help="How many rows are shown for each reason; 0 shows all.", min=0)]
Identity = Annotated[str, typer.Argument(metavar="ID", help="The id of a letter, as list shows it.", show_default=False)]
To = Annotated[Path, typer.Option("--to", help="A file: .jsonl, .json or .parquet.", metavar="FILE", show_default=False)]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only this letter; repeatable.", metavar="ID")]
Edited = Annotated[
    Path | None,
    typer.Option("--edited", help="Letters as exported to .jsonl and mended: their raw text is replayed.", metavar="FILE"),
]
Repair = Annotated[
    str | None,
    typer.Option("--repair", help="'SET column = expression, ...' in each row first; _raw is its text as it came.", metavar="SET"),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would become of each letter, and ask for nothing.")]
JobName = Annotated[str | None, typer.Option("--job", help="Which job, if the file has several.", metavar="NAME", show_default=False)]


def list_letters(
    target: Target,
    state: State = None,
    form: FormOption = Form.text,
    limit: Limit = 20,
    code: Code = None,
    by: By = None,
    since: Since = None,
    until: Until = None,
    rule: Rule = None,
    every: All = False,
    settings: Reach = None,
) -> None:
    """List the rows that a job set aside: late ones, broken ones, with the reason of each."""
    wanted = _filter(code, by, since, until, rule, every=every)
    found = _letters(target, state, settings)
    if form is Form.json:
        from windrow.jobs.letter_requests import plain

        records = [{"job": own.job, **plain(record)} for own in found for record in own.meant_by(wanted)]
        print(json.dumps(records, indent=2, ensure_ascii=False))
        return
    from windrow.cli.screen import screen

    for own in found:
        show_job(own, own.meant_by(wanted), limit, screen())


def show_letter(target: Target, identity: Identity, state: State = None, form: FormOption = Form.text, settings: Reach = None) -> None:
    """Show all that is known of one letter."""
    from windrow.cli.screen import screen
    from windrow.errors import UsageError

    found = [(own, record) for own in _letters(target, state, settings) for record in own.records if record["id"] == identity]
    if not found:
        raise UsageError("WR890", f"there is no dead letter {identity}", f"windrow dead-letters list {target}")
    for own, record in found:
        if form is Form.json:
            from windrow.jobs.letter_requests import plain

            print(json.dumps({"job": own.job, **plain(record)}, indent=2, ensure_ascii=False))
        else:
            show_one(own.job, record, screen())


def export_letters(
    target: Target,
    to: To,
    state: State = None,
    code: Code = None,
    by: By = None,
    since: Since = None,
    until: Until = None,
    rule: Rule = None,
    every: All = False,
    settings: Reach = None,
) -> None:
    """Write letters to a file, one JSON object a line or as Parquet."""
    from windrow.cli.screen import say, screen

    wanted = _filter(code, by, since, until, rule, every=every)
    records = [{"job": own.job, **record} for own in _letters(target, state, settings) for record in own.meant_by(wanted)]
    export_records(records, to)
    say(screen(), f"{len(records):,} dead letters written to {to}")


def replay_letters(
    file: SqlFile,
    state: State = None,
    job: JobName = None,
    ids: Ids = None,
    code: Code = None,
    by: By = None,
    since: Since = None,
    until: Until = None,
    rule: Rule = None,
    held: Held = False,
    edited: Edited = None,
    repair: Repair = None,
    dry_run: DryRun = False,
    form: FormOption = Form.text,
    settings: Reach = None,
) -> None:
    """Feed letters to their job once more: a running job takes them with its next batch, a stopped one when it starts."""
    from windrow.cli.letter_replay import Change, ask_for_replay, try_replay
    from windrow.cli.letter_view import show_trial
    from windrow.cli.screen import say, screen

    wanted = _filter(code, by, since, until, rule, ids=ids, held=held)
    change = Change(edited, repair)
    if form is Form.json and not dry_run:
        from windrow.errors import UsageError

        hint = f"windrow dead-letters replay {file} --dry-run --format json"
        raise UsageError(codes.CONFLICT, "--format json belongs to --dry-run", hint)
    if dry_run and form is Form.json:
        from windrow.jobs.letter_requests import trial_json

        print(json.dumps([trial_json(tried) for tried in try_replay(file, state, job, wanted, change, settings)], ensure_ascii=False))
        return
    if dry_run:
        for tried in try_replay(file, state, job, wanted, change, settings):
            show_trial(tried, screen())
        return
    for name, asked, left in ask_for_replay(file, state, job, wanted, change, settings):
        say(screen(), f"job {name}: {asked:,} dead letters will be replayed by its next batch, or when it starts: windrow run {file}")
        if left:
            hint = "their windows are closed, they are rows of a table, or a rule holds them for review"
            say(screen(), f"{left:,} are left: {hint}", style="yellow")
            say(screen(), "why of each: the same command with --dry-run", style="yellow")


def show_letters(state: Path, limit: int, console: Console) -> None:
    """The dead letters of every job below a state folder."""
    from windrow.jobs.letters import read_letters

    for own in read_letters(state):
        show_job(own, own.records, limit, console)


def _letters(target: str, state: str | None, settings: list[str] | None) -> list[JobLetters]:
    from windrow.errors import UsageError
    from windrow.jobs.letters import read_letters

    is_folder = Path(target).is_dir() or "://" in target
    folder = opened_state(target, target if state is None and is_folder else state, settings)
    found = read_letters(folder)
    if not found:
        hint = "give the folder that run --state named" if is_folder else f"run it first: windrow run {target}"
        raise UsageError(codes.NO_STATE, f"there is no state of a job in {folder.path}", hint)
    return found


def _filter(
    code: list[str] | None,
    by: str | None,
    since: str | None,
    until: str | None,
    rule: str | None,
    *,
    every: bool = False,
    ids: list[str] | None = None,
    held: bool = False,
) -> LetterFilter:
    from windrow.jobs.letters import LetterFilter

    upper = frozenset(each.upper() for each in code or ())
    return LetterFilter(frozenset(ids or ()), upper, by, _time("--since", since), _time("--until", until), every, rule, held)


def _time(option: str, text: str | None) -> Any:
    from datetime import UTC, datetime

    from windrow.errors import UsageError

    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(codes.BAD_VALUE, f"{option} {text} is not a time", f"{option} 2026-01-31T12:00:00Z") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
