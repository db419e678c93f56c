"""``windrow plan``, ``apply``, ``history`` and ``rollback``: a changed query and the state that it has.

Only ``apply`` starts Spark, to watch the new version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import AtServer, Env, Form, FormOption, Master, Reach, Settings, SqlFile, State
from windrow.cli.files import shown_name
from windrow.cli.state_option import opened_state

if TYPE_CHECKING:
    from windrow.changes import Strategy as JobStrategy
    from windrow.cli.remote_changes import Remote
    from windrow.compiler import Compiled
    from windrow.errors import UsageError
    from windrow.jobs.job_versions import JobText
    from windrow.jobs.saved_text import Recompile
    from windrow.jobs.switching import JobSwitch, Review


class Strategy(Enum):
    """Those of ``windrow.changes``, without what it imports."""

    cut = "cut"
    mix = "mix"


# Why a server does not take an option.
_ELSEWHERE = "on the server's machine: windrow plan FILE --rehearse --state DATA/jobs/NAME/state"
_WATCHES = "a server watches every version that it applies, and goes back if it fails"
_STARTS = "a server starts the job again by itself"
_OWN = "a server runs its jobs with its own settings"

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Message = Annotated[str, typer.Option("--message", "-m", help="Why, for windrow history.", metavar="TEXT", show_default=False)]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="0: no change, 3: safe changes, 4: changes that need a decision.")]
Version = Annotated[int | None, typer.Option("--to", help="The version to go back to; the one before if not given.", show_default=False)]
TextOf = Annotated[int | None, typer.Option("--text", help="Print the SQL text of this version.", metavar="VERSION", show_default=False)]
How = Annotated[
    Strategy,
    typer.Option(
        "--strategy",
        help="Where the state cannot simply follow: cut over at a window boundary, or mix rows of both texts in what is open.",
    ),
]
Rehearse = Annotated[bool, typer.Option("--rehearse", help="Run both texts over recent rows, in copies, and show the differences.")]
Batches = Annotated[int, typer.Option("--batches", min=1, help="With --rehearse: the rows of so many batches.", metavar="N")]
Watch = Annotated[bool, typer.Option("--watch/--no-watch", help="Run the new version for three batches, and go back if it fails.")]
RunOn = Annotated[bool, typer.Option("--run", help="Then run the new version, until Ctrl-C; else the command that does so is told.")]
WatchSeconds = Annotated[float, typer.Option("--watch-seconds", min=1, help="So long at most, where fewer rows come.", metavar="SECONDS")]


def plan_change(
    context: typer.Context,
    file: SqlFile,
    env: Env = None,
    state: State = None,
    form: FormOption = Form.text,
    exit_code: ExitCode = False,
    strategy: How = Strategy.cut,
    rehearse: Rehearse = False,
    batches: Batches = 10,
    master: Master = None,
    settings: Settings = None,
    server: AtServer = None,
) -> None:
    """Show what a changed file would do to the state of its jobs, and change nothing."""
    from windrow.cli.change_text import exit_of
    from windrow.jobs.change_records import review_record

    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import plan_there

        refuse_given(context, {"rehearse": _ELSEWHERE, "batches": _ELSEWHERE, "master": _OWN, "settings": _OWN})
        jobs = plan_there(remote, form, strategy=strategy.value)["content"]["jobs"]
        _exit(exit_code, map(exit_of, jobs))
        return
    found = [(switch, switch.review(_strategy(strategy))) for switch in _switches(file, state, settings, env)]
    if form is Form.json and not rehearse:
        _print_json([review_record(review) for _, review in found])
    elif form is not Form.json:
        _print_reviews(found)
    if rehearse:
        _rehearse(file, env, found, _strategy(strategy), batches, master, settings, is_json=form is Form.json)
    _exit(exit_code, (exit_of(review_record(review)) for _, review in found))


def _exit(is_wanted: bool, codes_of_jobs: Iterable[int]) -> None:
    if is_wanted:
        raise typer.Exit(max(codes_of_jobs, default=0))


def apply_change(
    context: typer.Context,
    file: SqlFile,
    env: Env = None,
    state: State = None,
    yes: Yes = False,
    message: Message = "",
    strategy: How = Strategy.cut,
    watch: Watch = True,
    watch_seconds: WatchSeconds = 60.0,
    run: RunOn = False,
    master: Master = None,
    settings: Settings = None,
    server: AtServer = None,
) -> None:
    """Carry the state of a file's jobs over to its present text and watch it work. A job that runs is stopped at a batch's end."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import apply_there

        refuse_given(context, {"watch": _WATCHES, "watch_seconds": _WATCHES, "run": _STARTS, "master": _OWN, "settings": _OWN})
        apply_there(remote, yes=yes, message=message, strategy=strategy.value)
        return
    from windrow.jobs.authors import git_commit, user_name
    from windrow.jobs.switching import refused

    switches = [(switch, switch.review(_strategy(strategy))) for switch in _switches(file, state, settings, env)]
    changed = [(switch, review) for switch, review in switches if review.changes and review.batch >= 0]
    _print_reviews(switches)
    for _, review in changed:
        if not review.can_apply:
            raise refused(review)
    unseen = [switch for switch, review in switches if not review.changes and not review.is_final]
    if not changed and not unseen:
        return
    if changed and not yes and not typer.confirm("\nCarry the state over?"):
        raise typer.Exit(1)
    done = []
    _stop_running(switch for switch, _ in switches)
    for switch, review in changed:
        told = {"message": message, "who": user_name(), "commit": git_commit(file)}
        number = switch.apply(strategy=_strategy(strategy), is_final=not watch, **told)
        done.append(switch)
        # Not from what was looked at before: a job that ran has gone on since.
        print(f"job {review.job} is version {number} from batch {_present(switch).since + 1} on")
    if watch:
        _watch(file, env, state, [*done, *unseen], watch_seconds, master, settings)
    if run:
        from windrow.cli.run import run as run_on

        run_on(file, env=env, state=state, master=master, settings=settings)
        return
    words = "".join(f" --{name} {value}" for name, value in (("env", env), ("state", state)) if value)
    print(f"   nothing runs now. Go on: windrow run {file}{words}    go back: windrow rollback {file}{words}")


def _stop_running(switches: Iterable[JobSwitch]) -> None:
    """All jobs of a file run in one process: each is asked to stop after its batch."""
    from windrow.jobs.authors import user_name
    from windrow.jobs.stop_wishes import stop_running

    for switch in switches:
        _refuse_served(switch)
        if stop_running(switch.folder, user_name() or "windrow", tell=partial(_tell_stop, switch.job.name)):
            print("   it has stopped")


def _tell_stop(job: str, who: str) -> None:
    print(f"job {job} runs ({who}): it is asked to stop at the end of its batch")


def _refuse_served(switch: JobSwitch) -> None:
    """Who stops the job of a server behind its back is answered by a start of the old text."""
    from pathlib import Path

    from windrow.errors import UsageError
    from windrow.storage.lease import holder_of

    place = Path(switch.folder.path).parent.parent
    if switch.folder.is_local and (place / "process.json").exists() and holder_of(switch.folder) is not None:
        raise UsageError(codes.CONFLICT, f"a server runs job {switch.job.name}", "ask it: --server URL in the place of --state")


def _rehearse(
    file: str,
    env: str | None,
    found: list[tuple[JobSwitch, Review]],
    strategy: JobStrategy,
    batches: int,
    master: str | None,
    settings: list[str] | None,
    *,
    is_json: bool,
) -> None:
    from windrow.cli.change_text import rehearsal_record, rehearsal_text
    from windrow.cli.project import chosen_for
    from windrow.cli.set_options import read_settings
    from windrow.cli.spark_start import start_spark
    from windrow.jobs.change_records import review_record
    from windrow.jobs.options import SPARK
    from windrow.jobs.rehearsal import rehearse
    from windrow.settings import load_settings
    from windrow.spark.internals.java_process import stop_session

    changed = [switch for switch, review in found if review.changes and review.can_apply and review.batch >= 0]
    rehearsals = {}
    if changed:
        chosen = chosen_for(file, env)
        given = {**chosen.settings, **read_settings(settings or [])}
        own = {key: value for key, value in given.items() if not key.startswith(SPARK)}
        spark = start_spark(chosen.master(master, load_settings()), {k: v for k, v in given.items() if k.startswith(SPARK)})
        try:
            for switch in changed:
                compiled = _compiled(file, env)
                rehearsals[switch.job.name] = rehearse(switch, compiled, batches=batches, strategy=strategy, spark=spark, settings=own)
        finally:
            stop_session(spark)
    if is_json:
        _print_json([{**review_record(review), "rehearsal": rehearsal_record(rehearsals.get(review.job))} for _, review in found])
        return
    for one in rehearsals.values():
        print(f"\n{rehearsal_text(one)}")
    if not rehearsals:
        print("\nnothing to rehearse: there is no change that can be applied")


def _print_reviews(found: list[tuple[JobSwitch, Review]]) -> None:
    from windrow.changes import Strategy as JobStrategy
    from windrow.cli.change_text import text_of
    from windrow.jobs.change_records import review_record

    texts = []
    for switch, review in found:
        can_mix = not review.can_apply and switch.review(JobStrategy.MIX).can_apply
        texts.append(text_of(review_record(review), can_mix=can_mix))
    print("\n\n".join(texts))


def _watch(
    file: str,
    env: str | None,
    state: str | None,
    switches: list[JobSwitch],
    seconds: float,
    master: str | None,
    settings: list[str] | None,
) -> None:
    """The first batches of a new version; should it fail, the version before comes back."""
    from windrow.cli.project import chosen_for
    from windrow.cli.set_options import read_settings
    from windrow.cli.spark_start import start_spark
    from windrow.errors import WindrowError
    from windrow.jobs.authors import user_name
    from windrow.jobs.options import SPARK, RunOptions
    from windrow.jobs.trial import COMMITS, prove
    from windrow.settings import load_settings
    from windrow.spark.internals.java_process import stop_session

    chosen = chosen_for(file, env)
    given = {**chosen.settings, **read_settings(settings or [])}
    own = {key: value for key, value in given.items() if not key.startswith(SPARK)}
    options = RunOptions("continuous", _state_path(file, state, env), settings=own)
    print(f"   watching it for {COMMITS} batches, or {seconds:g} s")
    try:
        spark = start_spark(chosen.master(master, load_settings()), {k: v for k, v in given.items() if k.startswith(SPARK)})
        try:
            seen = prove(switches, _compiled(file, env), options, spark=spark, seconds=seconds, tell=_tell_commit, who=user_name())
        finally:
            stop_session(spark)
    except WindrowError:
        names = " and ".join(switch.job.name for switch in switches)
        print(f"   it failed, and {names} is back at the version before: windrow run with the text of before goes on")
        for sentence in (sentence for switch in switches for sentence in switch.lasting()):
            print(f"   stays    {sentence}")
        raise
    few = [job for job, commits in seen.items() if commits < COMMITS]
    print("   it works" if not few else f"   it works, as far as rows came: {', '.join(f'{job} committed {seen[job]}' for job in few)}")


def _tell_commit(job: str, commits: int) -> None:
    print(f"   job {job}: {commits} of its batches committed")


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
) -> None:
    """Take a file's jobs back to an earlier version, as it stood when the next one took over. Rows read since then are read again."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import roll_back_there

        refuse_given(context, {"settings": _OWN})
        roll_back_there(remote, to, yes=yes, message=message)
        return
    from windrow.jobs.authors import user_name
    from windrow.jobs.pending import pending_rollback
    from windrow.jobs.switching import rollback_target

    for switch in _switches(file, state, settings, env):
        name = switch.job.name
        if pending_rollback(switch.folder) is None:
            target, following = rollback_target(switch.folder, name, to)
            print(f"job {name}: back to version {target.number}, as it stood after batch {following.since}")
            print("   outputs  what was written since then is removed, where the output can; rows read since then are read again")
            for sentence in switch.lasting():
                print(f"   stays    {sentence}")
            if not yes and not typer.confirm("Go back?"):
                raise typer.Exit(1)
        _stop_running([switch])
        undone = switch.rollback(to, message=message, who=user_name())
        text = f"windrow history {file} --text {_present(switch).number}"
        print(f"job {name} is rolled back; {undone:,} batches will run again. Its text: {text}")


def show_history(
    context: typer.Context,
    file: SqlFile,
    env: Env = None,
    state: State = None,
    form: FormOption = Form.text,
    text: TextOf = None,
    settings: Reach = None,
    server: AtServer = None,
) -> None:
    """List the versions of a file's jobs: who changed what, when, and which batches each has run."""
    if (remote := _remote(server, file, env, state)) is not None:
        from windrow.cli.remote_changes import history_there

        refuse_given(context, {"settings": _OWN})
        history_there(remote, form, text)
        return
    from windrow.jobs.change_records import version_records
    from windrow.jobs.job_versions import versions_of

    records: list[dict[str, Any]] = []
    for switch in _switches(file, state, settings, env):
        known = versions_of(switch.folder)
        records += version_records(switch)
        if text is not None and (found := next((one for one in known if one.number == text), None)) is not None:
            print(found.card["sql"])
            return
    if text is not None:
        raise no_version(text, (record["version"] for record in records))
    if form is Form.json:
        _print_json(records)
        return
    from windrow.cli.screen import screen, table

    made = table("job", "version>", "batches", "class", "at (UTC)", "by", "commit", "what")
    for one in reversed(records):
        what = one["message"] or "; ".join(one["changes"]) or ("the first" if one["version"] == 1 else "")
        batches = f"{one['from_batch']} to {'now' if one['to_batch'] is None else one['to_batch']}"
        what = what if one["is_final"] else f"not seen to work yet: {what}"
        made.add_row(one["job"], str(one["version"]), batches, one["class"], one["at"], one["by"], one["commit"][:10], what)
    screen().print(made)


def _remote(server: str | None, file: str, env: str | None, state: str | None) -> Remote | None:
    """The job of a server, where one is named."""
    from windrow.errors import UsageError

    if server is None:
        return None
    if state is not None:
        raise UsageError(codes.CONFLICT, "--server and --state exclude each other", "a server knows the folders of its jobs")
    from windrow.cli.remote_changes import Remote

    return Remote(server, file, env or "")


def refuse_given(context: typer.Context, why: Mapping[str, str]) -> None:
    """Refuse options that a server does not take; ``why`` has the hint of each parameter."""
    from windrow.errors import UsageError

    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if name in why and source is not None and source.name != "DEFAULT":
            raise UsageError(codes.CONFLICT, f"--server and {parameter.opts[0]} exclude each other", why[name])


def no_version(number: int, there: Iterable[int]) -> UsageError:
    from windrow.errors import UsageError

    return UsageError(codes.BAD_VALUE, f"there is no version {number}", f"there are: {', '.join(map(str, there))}")


def _switches(file: str, state: str | None, settings: list[str] | None, env: str | None) -> list[JobSwitch]:
    from windrow.cli.project import chosen_for
    from windrow.jobs.switching import switches_of
    from windrow.settings import environment

    folder = opened_state(file, state, settings, env)
    recompile = None if chosen_for(file, env).environment is None else _as_environment_has_it(file, env)
    return switches_of(_compiled(file, env), folder, shown_name(file), environment(), recompile)


def _compiled(file: str, env: str | None) -> Compiled:
    from windrow.cli.project import chosen_for, compile_chosen

    return compile_chosen(file, chosen_for(file, env))


def _as_environment_has_it(file: str, env: str | None) -> Recompile:
    from windrow.cli.project import chosen_for
    from windrow.config import compile_file
    from windrow.settings import environment

    chosen = chosen_for(file, env).environment
    assert chosen is not None, "there is a windrow.yaml"
    return lambda text: compile_file(text, shown_name(file), chosen, environment())


def _state_path(file: str, state: str | None, env: str | None) -> str:
    from windrow.cli.files import stem
    from windrow.cli.project import chosen_for
    from windrow.settings import load_settings

    return chosen_for(file, env).state(state, load_settings(), stem(file))


def _strategy(chosen: Strategy) -> JobStrategy:
    from windrow.changes import Strategy as JobStrategy

    return JobStrategy(chosen.value)


def _present(switch: JobSwitch) -> JobText:
    from windrow.jobs.job_versions import versions_of

    return versions_of(switch.folder)[-1]


def _print_json(records: list[dict[str, Any]]) -> None:
    import json

    print(json.dumps(records, indent=2, ensure_ascii=False))
