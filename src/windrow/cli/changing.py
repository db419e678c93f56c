"""``windrow plan``, ``apply``, ``history`` and ``rollback``: a changed query and the state that it has. Starts no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import AtServer, Env, Form, FormOption, Reach, SqlFile, State
from windrow.cli.files import read_sql, shown_name
from windrow.cli.state_option import opened_state

if TYPE_CHECKING:
    from windrow.cli.remote_changes import Remote
    from windrow.jobs.switching import JobSwitch, Review

NOTHING, SAFE, DECIDE = 0, 3, 4
_WIDTH = 100

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Message = Annotated[str, typer.Option("--message", "-m", help="Why, for windrow history.", metavar="TEXT", show_default=False)]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="0: no change, 3: safe changes, 4: changes that need a decision.")]
Version = Annotated[int | None, typer.Option("--to", help="The version to go back to; the one before if not given.", show_default=False)]
TextOf = Annotated[int | None, typer.Option("--text", help="Print the SQL text of this version.", metavar="VERSION", show_default=False)]


def plan_change(
    file: SqlFile,
    state: State = None,
    form: FormOption = Form.text,
    exit_code: ExitCode = False,
    settings: Reach = None,
    server: AtServer = None,
    env: Env = None,
) -> None:
    """Show what a changed file would do to the state of its jobs, and change nothing."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import plan_there

        plan_there(remote, form)
        return
    reviews = [switch.review() for switch in _switches(file, state, settings)]
    if form is Form.json:
        from windrow.jobs.change_records import review_record

        _print_json([review_record(review) for review in reviews])
    else:
        print("\n\n".join(_text(review) for review in reviews))
    if exit_code:
        raise typer.Exit(max((_exit(review) for review in reviews), default=NOTHING))


def apply_change(
    file: SqlFile,
    state: State = None,
    yes: Yes = False,
    message: Message = "",
    settings: Reach = None,
    server: AtServer = None,
    env: Env = None,
) -> None:
    """Carry the state of a file's jobs over to its present text. A job that runs is refused; the next run goes on from there."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import apply_there

        apply_there(remote, yes=yes)
        return
    from windrow.jobs.switching import refused

    switches = [(switch, switch.review()) for switch in _switches(file, state, settings)]
    changed = [(switch, review) for switch, review in switches if review.changes]
    print("\n\n".join(_text(review) for _, review in switches))
    for _, review in changed:
        if not review.can_apply:
            raise refused(review)
    if not changed or (not yes and not typer.confirm("\nCarry the state over?")):
        raise typer.Exit(0 if not changed else 1)
    for switch, review in changed:
        if review.batch < 0:
            continue
        number = switch.apply(message=message, who=_user(), commit=_commit(file))
        print(f"job {review.job} is version {number} from batch {review.batch + 1} on")
        print(f"   go on: windrow run {file}    go back: windrow rollback {file}")


def roll_back(
    file: SqlFile,
    to: Version = None,
    state: State = None,
    yes: Yes = False,
    message: Message = "",
    settings: Reach = None,
    server: AtServer = None,
    env: Env = None,
) -> None:
    """Take a file's jobs back to an earlier version, as it stood when the next one took over. Rows read since then are read again."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import roll_back_there

        roll_back_there(remote, to, yes=yes)
        return
    from windrow.jobs.pending import pending_rollback
    from windrow.jobs.switching import rollback_target

    for switch in _switches(file, state, settings):
        name = switch.job.name
        if pending_rollback(switch.folder) is None:
            target, following = rollback_target(switch.folder, name, to)
            print(f"job {name}: back to version {target.number}, as it stood after batch {following.since}")
            print("   outputs  what was written since then is removed, where the output can; rows read since then are read again")
            for sentence in switch.lasting():
                print(f"   stays    {sentence}")
            if not yes and not typer.confirm("Go back?"):
                raise typer.Exit(1)
        undone = switch.rollback(to, message=message, who=_user())
        print(f"job {name} is rolled back; {undone:,} batches will run again. Its text: windrow history {file} --text {_present(switch)}")


def show_history(
    file: SqlFile,
    state: State = None,
    form: FormOption = Form.text,
    text: TextOf = None,
    settings: Reach = None,
    server: AtServer = None,
    env: Env = None,
) -> None:
    """List the versions of a file's jobs: who changed what, when, and which batches each has run."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import history_there

        history_there(remote, form)
        return
    from windrow.jobs.change_records import version_records
    from windrow.jobs.job_versions import versions_of

    records: list[dict[str, Any]] = []
    for switch in _switches(file, state, settings):
        known = versions_of(switch.folder)
        records += version_records(switch)
        if text is not None and (found := next((one for one in known if one.number == text), None)) is not None:
            print(found.card["sql"])
            return
    if text is not None:
        from windrow.errors import UsageError

        there = ", ".join(str(record["version"]) for record in records)
        raise UsageError(codes.BAD_VALUE, f"there is no version {text}", f"there are: {there}")
    if form is Form.json:
        _print_json(records)
        return
    from windrow.cli.screen import screen, table

    made = table("job", "version>", "batches", "class", "at (UTC)", "by", "commit", "what")
    for one in reversed(records):
        what = one["message"] or "; ".join(one["changes"]) or ("the first" if one["version"] == 1 else "")
        batches = f"{one['from_batch']} to {'now' if one['to_batch'] is None else one['to_batch']}"
        made.add_row(one["job"], str(one["version"]), batches, one["class"], one["at"], one["by"], one["commit"][:10], what)
    screen().print(made)


def _remote(server: str | None, file: str, env: str | None, state: str | None) -> Remote | None:
    """The job of a server, where one is named."""
    from windrow.errors import UsageError

    if server is None:
        if env is not None:
            raise UsageError(codes.CONFLICT, "--env says which job of a server is meant", "name the server, too: --server URL")
        return None
    if state is not None:
        raise UsageError(codes.CONFLICT, "--server and --state exclude each other", "a server knows the folders of its jobs")
    from windrow.cli.remote_changes import Remote

    return Remote(server, file, env or "")


def _switches(file: str, state: str | None, settings: list[str] | None) -> list[JobSwitch]:
    from windrow.compiler import compile_sql
    from windrow.jobs.switching import switches_of
    from windrow.settings import environment

    env = environment()
    compiled = compile_sql(read_sql(file), shown_name(file), env)
    return switches_of(compiled, opened_state(file, state, settings), shown_name(file), env)


def _present(switch: JobSwitch) -> int:
    from windrow.jobs.job_versions import versions_of

    return versions_of(switch.folder)[-1].number


def _exit(review: Review) -> int:
    if not review.changes:
        return NOTHING
    return SAFE if review.klass.is_safe and review.can_apply else DECIDE


def _text(review: Review) -> str:
    head = f"job {review.job}, version {review.version}, after batch {review.batch}"
    if not review.changes:
        return f"{head}: nothing has changed that its state depends on"
    if review.batch < 0:
        return f"job {review.job} has not come to its first batch: nothing is kept of it yet, and windrow run takes the new text"
    lines = [head]
    titles = dict.fromkeys(change.statement for change in review.changes)
    for title in titles:
        lines.append(f"\n  {title}")
        for change in review.changes:
            if change.statement == title:
                lines += [f"    {change.klass.value}  {change.what}", f"       why    {change.reason}", f"       state  {change.state}"]
                lines += [f"       no     {change.refused}"] if change.refused else []
    lines += ["", *_outcome(review)]
    return "\n".join(lines)


def _outcome(review: Review) -> list[str]:
    held = ", ".join(f"{count:,} of {name}" for name, count in review.open_windows.items() if count) or "none"
    lines = [f"  class    {review.klass.value}, {review.klass.meaning}", f"  open     windows and groups: {held}"]
    if not review.can_apply:
        told = {change.refused for change in review.changes if change.refused}
        others = [each for each in review.obstacles if not any(each.endswith(refused[1:]) for refused in told)]
        lines += [f"  no       {each}" for each in others]
        return [*lines, "  apply    refused: nothing is touched. Ways out: undo the change, or run it with a new --state folder,",
                "           which reads its sources from the beginning; the state that is here stays for the old text"]  # fmt: skip
    lines += [
        "  sources  go on where they were read up to; nothing is read again",
        "  outputs  what was written stays; rows of later batches are as the new text says",
        "  back     windrow rollback takes it back to this batch: the rows read since are read again, by the old text",
    ]
    lines += [f"  stays    {each}" for each in review.lasting]
    return [*lines, "  apply    takes as long as writing the state once; the job must not run. Next: windrow apply, then windrow run"]


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _commit(file: str) -> str:
    """The commit of the folder that the file is in, where git says so."""
    import subprocess
    from pathlib import Path

    try:
        done = subprocess.run(
            ["git", "-C", str(Path(file).resolve().parent), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _print_json(records: list[dict[str, Any]]) -> None:
    import json

    print(json.dumps(records, indent=2, ensure_ascii=False))
