"""``windrow alerts``: the alerts of a server's jobs: look at them, take them on, silence them, try the channels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape

from windrow.cli.deployments import LOCAL, AsJson, Server, TokenFile, client_of
from windrow.cli.screen import screen, table
from windrow.errors import UsageError

Job = Annotated[str | None, typer.Option("--job", help="Of this job only.", show_default=False)]
Rule = Annotated[str, typer.Argument(help="The name of a rule; every one if left out.", show_default=False)]


def list_alerts(
    job: Job = None,
    every: Annotated[bool, typer.Option("--all", help="Those that are over, too.")] = False,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    as_json: AsJson = False,
) -> None:
    """List the alerts of a server's jobs."""
    found = client_of(server, token_file).alerts(every=every, job=job)
    if as_json:
        print(json.dumps(found))
        return
    if not found:
        print("no alert: every rule is content")
        return
    _show(
        ("id", "state", "level", "job", "rule", "since (UTC)", "what is wrong"),
        [(one["id"], _state(one), one["level"], one["job"], one["rule"], _moment(one["since"]), one["summary"]) for one in found],
    )


Id = Annotated[str, typer.Argument(help="Its id.", show_default=False)]


def acknowledge(alert: Id, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Take an alert on, so that nobody is told of it again."""
    told = client_of(server, token_file).acknowledge(alert)
    print(f"{told['rule']} of {told['job']} is taken on by {told['acknowledged_by']}")


def silence(
    because: Annotated[str, typer.Option("--because", help="Why.", show_default=False)],
    rule: Rule = "",
    job: Job = None,
    minutes: Annotated[int, typer.Option("--minutes", min=1, max=60 * 24 * 30, help="For how long.")] = 60,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Tell nobody of a rule, or of a job, for a while."""
    if not rule and job is None:
        raise UsageError("WR923", "nothing is named that is to be silent", "windrow alerts silence RULE --job JOB --because WHY")
    made = client_of(server, token_file).silence(because, minutes, rule=rule, job=job or "")
    print(f"silent until {_moment(made['until_at'])} UTC; windrow alerts unsilence {made['id']} ends it")


def unsilence(silence_id: Id, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """End a silence."""
    client_of(server, token_file).end_silence(silence_id)
    print("it is told again")


def list_rules(job: Job = None, server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """List the rules that a server judges, and who is told of what."""
    client = client_of(server, token_file)
    rules, channels = client.alert_rules(job), client.channels()
    if as_json:
        print(json.dumps({"rules": rules, "channels": channels}))
        return
    rows = {
        (one["name"], one["level"], f"{one['hold_seconds']:g} s", "on" if one["is_on"] else "off", one["summary"]): None for one in rules
    }
    _show(("rule", "level", "for", "", "says"), list(rows))
    print()
    if channels:
        _show(
            ("channel", "type", "levels", "error"), [(one["name"], one["type"], " ".join(one["levels"]), one["error"]) for one in channels]
        )
    else:
        print("nobody is told: windrow serve --alerts FILE names channels")


def change_rule(
    rule: Annotated[str, typer.Argument(help="The name of a rule.", show_default=False)],
    is_on: Annotated[bool, typer.Option("--on/--off", help="Whether it is judged.")] = True,
    hold: Annotated[int | None, typer.Option("--for", min=0, help="Seconds that it must hold.", show_default=False)] = None,
    level: Annotated[str | None, typer.Option("--level", help="info, warning, critical or emergency.", show_default=False)] = None,
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Switch a rule off or on for all jobs of a server, or change how long it must hold."""
    client_of(server, token_file).change_rule(rule, is_on=is_on, hold_seconds=hold, level=level)
    print(f"{rule} is {'on' if is_on else 'off'}")


def try_channel(
    name: Annotated[str, typer.Argument(help="Its name in the file.", show_default=False)],
    server: Server = LOCAL,
    token_file: TokenFile = None,
) -> None:
    """Send a channel an alert that says it is none."""
    client_of(server, token_file).try_channel(name)
    print(f"{name} took it")


def _state(one: dict[str, Any]) -> str:
    if one["is_silenced"] or one["is_inhibited"]:
        return f"{one['state']}, {'silenced' if one['is_silenced'] else 'its job has failed'}"
    return f"{one['state']}, with {one['acknowledged_by']}" if one["acknowledged_by"] else str(one["state"])


def _moment(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _show(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    drawn, out = table(*head), screen()
    for row in rows:
        drawn.add_row(*map(escape, row))
    out.print(drawn)
