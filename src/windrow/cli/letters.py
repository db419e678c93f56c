"""``windrow dead-letters``: the rows that a job set aside, and why."""

from __future__ import annotations

import base64
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import Form, FormOption, State, Target
from windrow.cli.files import stem

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from windrow.jobs.letters import JobLetters


def list_letters(
    target: Target,
    state: State = None,
    form: FormOption = Form.text,
    limit: Annotated[int, typer.Option("--limit", help="How many rows are shown for each reason; 0 shows all.", min=0)] = 20,
) -> None:
    """List the rows that a job set aside: late ones, broken ones, with the reason of each. Starts no Spark."""
    from windrow.errors import UsageError
    from windrow.jobs.letters import read_letters

    folder = _state_of(target) if state is None else Path(state)
    found = read_letters(folder) if folder.is_dir() else []
    if not found:
        hint = f"run it first: windrow run {target}" if not Path(target).is_dir() else "give the folder that run --state named"
        raise UsageError(codes.NO_STATE, f"there is no state of a job in {folder}", hint)
    if form is Form.json:
        import json

        records = [{"job": own.job, **_plain(record)} for own in found for record in own.records]
        print(json.dumps(records, indent=2, ensure_ascii=False))
        return
    from windrow.cli.screen import screen

    for own in found:
        _show(own, limit, screen())


def show_letters(state: Path, limit: int, console: Console) -> None:
    """The dead letters of every job below a state folder."""
    from windrow.jobs.letters import read_letters

    for own in read_letters(state):
        _show(own, limit, console)


def _state_of(target: str) -> Path:
    if Path(target).is_dir():
        return Path(target)
    from windrow.settings import load_settings

    return Path(load_settings().state, stem(target))


def _show(own: JobLetters, limit: int, console: Console) -> None:
    from windrow.cli.screen import say

    if not own.records:
        say(console, f"job {own.job} has no dead letters")
        return
    say(console, f"{len(own.records):,} dead letters of job {own.job}, in {own.folder}")
    console.print(_counts(own))
    shown = _first_of_each(own.records, limit or len(own.records))
    console.print(_rows(shown))
    if len(shown) < len(own.records):
        say(console, f"... and {len(own.records) - len(shown):,} more: --limit 0 shows all, --format json gives them to programs")


def _first_of_each(records: tuple[dict[str, Any], ...], limit: int) -> list[dict[str, Any]]:
    """The first rows for each reason, so that a frequent one does not hide a rare one."""
    by_code: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_code.setdefault(record["code"], []).append(record)
    return [record for code in sorted(by_code) for record in by_code[code][:limit]]


def _counts(own: JobLetters) -> Table:
    from windrow.cli.screen import meaning_of, table

    counts = Counter((record["code"], record["statement"] or record["source"]) for record in own.records)
    made = table("code", "count>", "set aside by", "because")
    for (code, place), count in sorted(counts.items()):
        made.add_row(code, f"{count:,}", place, meaning_of(code))
    return made


def _rows(records: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    from windrow.cli.screen import show_time, table

    made = table("code", "source", "partition>", "offset>", "event time", "row")
    for record in records:
        raw = record["raw"]
        content = raw.decode("utf-8", "replace") if raw is not None else record["row"]
        time = record["event_time"]
        place = [str(record[key]) if record[key] is not None else "" for key in ("partition", "offset")]
        shown = Text(content if content.isprintable() else repr(content)[1:-1])
        made.add_row(record["code"], record["source"], *place, "" if time is None else show_time(time), shown)
    return made


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record as JSON holds it: times as ISO 8601, the row as an object, raw bytes as text, or as base64 where they are none."""
    import json

    data = {key: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value for key, value in record.items()}
    raw = record["raw"]
    data["row"] = json.loads(record["row"]) if record["row"] else None
    try:
        data["raw"] = None if raw is None else raw.decode()
    except UnicodeDecodeError:
        data["raw"] = {"base64": base64.b64encode(raw).decode()}
    return data
