"""``windrow events``: what happened to the jobs of a file, from their folders. Starts no Spark."""

from __future__ import annotations

import json
import sys
import time
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import AtServer, Env, Form, FormOption, Reach, ServerToken, State, Target
from windrow.cli.state_option import opened_state

Types = Annotated[list[str] | None, typer.Option("--type", help="Only those of this type, such as job.state; repeatable.", metavar="TYPE")]
JobName = Annotated[str | None, typer.Option("--job", help="Which job, if the file has several.", metavar="NAME", show_default=False)]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Go on with those that come, until Ctrl-C.")]
Limit = Annotated[int, typer.Option("--limit", help="How many of the newest are shown; 0 shows all.", min=0)]
_LOOK = 0.5


def show_events(
    target: Target,
    state: State = None,
    follow: Follow = False,
    types: Types = None,
    job: JobName = None,
    limit: Limit = 50,
    form: FormOption = Form.text,
    settings: Reach = None,
    env: Env = None,
    server: AtServer = None,
    token_file: ServerToken = None,
) -> None:
    """Show what happened to the jobs of a file: states, tables, systems, late bursts, limits."""
    if server is not None:
        _refuse_with_server(state, types, job)
        from windrow.cli.remote_changes import Remote, events_there

        events_there(Remote(server, target, env or "", token_file), follow=follow, most=limit, form=form)
        return
    readers = _readers(target, state, job, settings, env)
    wanted = _types(types)
    found = [event for event in _more(readers) if not wanted or event["type"] in wanted]
    for event in found[-limit:] if limit else found:
        print(_line(event, form), flush=True)
    if not found and not follow:
        print("no event of these types is kept" if wanted else "no event is kept", file=sys.stderr)
    while follow:
        time.sleep(_LOOK)
        for event in _more(readers):
            if not wanted or event["type"] in wanted:
                print(_line(event, form), flush=True)


def _refuse_with_server(state: str | None, types: list[str] | None, job: str | None) -> None:
    from windrow.errors import UsageError

    for option, value in (("--state", state), ("--type", types), ("--job", job)):
        if value is not None:
            raise UsageError(codes.CONFLICT, f"--server and {option} exclude each other", f"leave {option} away")


def _readers(target: str, state: str | None, job: str | None, settings: list[str] | None, env: str | None) -> list[Any]:
    from pathlib import Path

    from windrow.errors import UsageError
    from windrow.jobs.event_watch import EventReader
    from windrow.jobs.identity import CARD
    from windrow.storage import folder_name

    chosen = target if state is None and Path(target).is_dir() else state
    folder = opened_state(target, chosen, settings, env)
    names = [name for name in folder.entries() if folder.child(name).exists(CARD)]
    if job is not None:
        names = [name for name in names if name == folder_name(job)]
    if not names:
        what = f"no state of job {job}" if job is not None else "no state of a job"
        raise UsageError(codes.NO_STATE, f"there is {what} in {folder.path}", "run the file first, or name its folder with --state")
    return [EventReader(folder.child(name)) for name in names]


def _types(given: list[str] | None) -> frozenset[str]:
    from windrow.errors import UsageError
    from windrow.observe.event import TYPES

    for name in given or ():
        if name not in TYPES:
            close = get_close_matches(name, TYPES, 1, 0.4)
            hint = f"did you mean {close[0]}? there are {', '.join(TYPES)}" if close else f"there are {', '.join(TYPES)}"
            raise UsageError(codes.BAD_VALUE, f'there are no events of type "{name}"', hint)
    return frozenset(given or ())


def _more(readers: list[Any]) -> list[dict[str, Any]]:
    return sorted((event for reader in readers for event in reader.more()), key=lambda event: str(event["at"]))


def _line(event: dict[str, Any], form: Form) -> str:
    """
    >>> _line({"at": "2026-01-01T10:00:00.000+00:00", "type": "job.state", "level": "info", "job": "shop", "batch_id": 3,
    ...        "message": "running", "details": {}}, Form.text)
    '2026-01-01 10:00:00  info     shop batch 3  job.state: running'
    """
    if form is Form.json:
        return json.dumps(event, ensure_ascii=False)
    at = str(event["at"])[:19].replace("T", " ")
    batch = f" batch {event['batch_id']}" if event["batch_id"] >= 0 else ""
    more = f" (and {event['details']['more']} more of this kind)" if "more" in event["details"] else ""
    return f"{at}  {event['level']:<7}  {event['job']}{batch}  {event['type']}: {event['message']}{more}"
