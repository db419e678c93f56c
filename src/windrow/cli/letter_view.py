"""How dead letters are shown and written to files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.cli import codes

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from windrow.jobs.letter_requests import Asked
    from windrow.jobs.letters import JobLetters

_PARQUET, _LINES = ".parquet", (".jsonl", ".json")


def show_job(own: JobLetters, records: Sequence[dict[str, Any]], limit: int, console: Console) -> None:
    """Counts by reason, then the first rows of each."""
    from windrow.cli.screen import say

    if not records:
        replayed = f" left, {len(own.records):,} were replayed or do not match" if own.records else ""
        say(console, f"job {own.job} has no dead letters{replayed}")
        return
    say(console, f"{len(records):,} dead letters of job {own.job}, in {own.folder}")
    console.print(_counts(records))
    shown = _first_of_each(records, limit or len(records))
    console.print(_rows(shown))
    if len(shown) < len(records):
        say(console, f"... and {len(records) - len(shown):,} more: --limit 0 shows all, --format json gives them to programs")


def show_one(job: str, record: dict[str, Any], console: Console) -> None:
    """Everything that is known of a letter, a line each."""
    from windrow.cli.screen import say
    from windrow.jobs.letter_requests import plain

    for name, value in {"job": job, **plain(record), "late_by": _late_by(record)}.items():
        if value is not None:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            say(console, f"{name:<11} {text if text.isprintable() else repr(text)[1:-1]}")


def show_trial(tried: Asked, console: Console) -> None:
    """What would become of each letter, a line each, and the sums."""
    from windrow.cli.screen import say, table
    from windrow.jobs.letter_requests import why_it_stays

    made = table("id", "was", "would", "because", "row")
    for letter, outcome in zip(tried.returning, tried.outcomes, strict=True):
        raw = letter["raw"]
        held = letter["row"] if raw is None else raw.decode("utf-8", "replace")
        would = "pass" if outcome.code is None else f"fail again: {outcome.code}"
        made.add_row(letter["id"], letter["code"], would, outcome.why, held if held.isprintable() else repr(held)[1:-1])
    for letter in tried.staying:
        made.add_row(letter["id"] or "", letter["code"], "stay", why_it_stays(letter), letter["row"])
    if tried.returning or tried.staying:
        console.print(made)
    passing = sum(outcome.code is None for outcome in tried.outcomes)
    failing, staying = len(tried.outcomes) - passing, len(tried.staying)
    sums = f"{passing:,} would pass, {failing:,} would fail again, {staying:,} would stay"
    say(console, f"job {tried.history.job.name}: {sums}; nothing was asked for")


def _first_of_each(records: Sequence[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The first rows for each reason, so that a frequent one does not hide a rare one."""
    by_code: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_code.setdefault(record["code"], []).append(record)
    return [record for code in sorted(by_code) for record in by_code[code][:limit]]


def _counts(records: Sequence[dict[str, Any]]) -> Table:
    from windrow.cli.screen import meaning_of, table

    counts = Counter((record["code"], record["statement"] or record["source"], record["constraint"] or "") for record in records)
    made = table("code", "count>", "set aside by", "because")
    for (code, place, constraint), count in sorted(counts.items()):
        made.add_row(code, f"{count:,}", place, meaning_of(code) + (f": {constraint}" if constraint else ""))
    return made


def _rows(records: list[dict[str, Any]]) -> Table:
    from rich.text import Text

    from windrow.cli.screen import show_time, table

    has_replays = any(record["replay"] is not None for record in records)
    has_late = any(record["late_by"] is not None for record in records)
    has_rules = any(record["rule"] is not None for record in records)
    beside = [*(["late by>"] if has_late else []), *(["rule"] if has_rules else []), *(["replayed"] if has_replays else [])]
    made = table("id", "code", "source", "partition>", "offset>", "event time", *beside, "row")
    for record in records:
        raw = record["raw"]
        content = raw.decode("utf-8", "replace") if raw is not None else record["row"]
        time = record["event_time"]
        place = [str(record[key]) if record[key] is not None else "" for key in ("partition", "offset")]
        shown = Text(content if content.isprintable() else repr(content)[1:-1])
        late_by = [_late_by(record) or ""] if has_late else []
        rule = [_rule_text(record)] if has_rules else []
        replayed = [_replay_text(record["replay"])] if has_replays else []
        made.add_row(
            record["id"] or "",
            record["code"],
            record["source"],
            *place,
            "" if time is None else show_time(time),
            *late_by,
            *rule,
            *replayed,
            shown,
        )
    return made


def _late_by(record: dict[str, Any]) -> str | None:
    from windrow.sql.durations import show_duration

    return None if record["late_by"] is None else show_duration(record["late_by"])


def _rule_text(record: dict[str, Any]) -> str:
    called = record["label"] or record["rule"] or ""
    return f"{called} (held)" if record["held"] else called


def _replay_text(replay: int | str | None) -> str:
    return "" if replay is None else replay if isinstance(replay, str) else f"batch {replay}"


def export_records(records: Sequence[dict[str, Any]], to: Path) -> None:
    from windrow.errors import UsageError
    from windrow.jobs.letter_requests import plain

    if to.suffix not in (_PARQUET, *_LINES):
        raise UsageError(codes.BAD_VALUE, f"--to {to} has an ending that says no format", f"--to {to.with_suffix('.jsonl')}")
    try:
        if to.suffix == _PARQUET:
            from windrow.jobs.letters import write_parquet

            write_parquet(records, to)
        else:
            to.write_text("".join(json.dumps(plain(record), ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    except OSError as error:
        raise UsageError(codes.UNWRITABLE, f"cannot write {to}: {error.strerror}", "name a file in a folder that you may write") from error
