"""``windrow rollback`` and ``history``: the versions of a job, and the way back to one. Neither starts Spark."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from windrow.cli.arguments import AtServer, Env, Form, FormOption, Reach, ServerToken, SqlFile, State
from windrow.cli.changed_jobs import (
    OWN_SETTINGS,
    job_switches,
    no_version,
    present_version,
    print_records,
    refuse_given,
    remote_job,
    stop_running_jobs,
)
from windrow.cli.changing import Message, Yes

Version = Annotated[int | None, typer.Option("--to", help="The version to go back to; the one before if not given.", show_default=False)]
TextOf = Annotated[int | None, typer.Option("--text", help="Print the SQL text of this version.", metavar="VERSION", show_default=False)]


def roll_back(
    context: typer.Context,
    file: SqlFile,
    env: Env = None,
    to: Version = None,
    state: State = None,
    yes: Yes = False,
    message: Message = "",
    settings: Reach = None,
    server: AtServer = None,
    token_file: ServerToken = None,
) -> None:
    """Take a file's jobs back to an earlier version, as it stood when the next one took over. Rows read since then are read again."""
    if (remote := remote_job(server, file, env, state, token_file)) is not None:
        from windrow.cli.remote_changes import roll_back_there

        refuse_given(context, {"settings": OWN_SETTINGS})
        roll_back_there(remote, to, yes=yes, message=message)
        return
    from windrow.diagnosis.explained import counted
    from windrow.jobs.authors import user_name
    from windrow.jobs.pending import pending_rollback
    from windrow.jobs.switching import rollback_target

    for switch in job_switches(file, state, settings, env):
        name = switch.job.name
        if pending_rollback(switch.folder) is None:
            target, following = rollback_target(switch.folder, name, to)
            print(f"job {name}: back to version {target.number}, as it stood after batch {following.since}")
            print("   outputs  what was written since then is removed, where the output can; rows read since then are read again")
            for sentence in switch.lasting():
                print(f"   stays    {sentence}")
            if not yes and not typer.confirm("Go back?"):
                raise typer.Exit(1)
        stop_running_jobs([switch])
        undone = switch.rollback(to, message=message, who=user_name())
        text = f"windrow history {file} --text {present_version(switch).number}"
        print(f"job {name} is rolled back; {counted(undone)} will run again. Its text: {text}")


def show_history(
    context: typer.Context,
    file: SqlFile,
    env: Env = None,
    state: State = None,
    form: FormOption = Form.text,
    text: TextOf = None,
    settings: Reach = None,
    server: AtServer = None,
    token_file: ServerToken = None,
) -> None:
    """List the versions of a file's jobs: who changed what, when, and which batches each has run."""
    if (remote := remote_job(server, file, env, state, token_file)) is not None:
        from windrow.cli.remote_changes import history_there

        refuse_given(context, {"settings": OWN_SETTINGS})
        history_there(remote, form, text)
        return
    from windrow.jobs.change_records import version_records
    from windrow.jobs.job_versions import versions_of

    records: list[dict[str, Any]] = []
    for switch in job_switches(file, state, settings, env):
        known = versions_of(switch.folder)
        records += version_records(switch)
        if text is not None and (found := next((one for one in known if one.number == text), None)) is not None:
            print(found.card["sql"])
            return
    if text is not None:
        raise no_version(text, (record["version"] for record in records))
    if form is Form.json:
        print_records(records)
        return
    from windrow.cli.screen import screen, table

    made = table("job", "version>", "batches", "class", "at (UTC)", "by", "commit", "what")
    for one in reversed(records):
        what = one["message"] or "; ".join(one["changes"]) or ("the first" if one["version"] == 1 else "")
        last = one["to_batch"]
        batches = "none" if last is not None and last < one["from_batch"] else f"{one['from_batch']} to {'now' if last is None else last}"
        what = what if one["is_final"] else f"not seen to work yet: {what}"
        made.add_row(one["job"], str(one["version"]), batches, one["class"], one["at"], one["by"], one["commit"][:10], what)
    screen().print(made)
