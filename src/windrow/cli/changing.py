"""``windrow plan`` and ``apply``: a changed query and the state that it has.

Only ``apply`` starts Spark, to watch the new version.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli.arguments import AtServer, Env, Form, FormOption, Master, ServerToken, Settings, SqlFile, State
from windrow.cli.changed_jobs import (
    OWN_SETTINGS,
    compiled_file,
    job_switches,
    present_version,
    print_records,
    refuse_given,
    remote_job,
    stop_running_jobs,
)

if TYPE_CHECKING:
    from windrow.changes import Strategy as JobStrategy
    from windrow.jobs.switching import JobSwitch, Review


class Strategy(Enum):
    """Those of ``windrow.changes``, without what it imports."""

    cut = "cut"
    mix = "mix"
    rebuild = "rebuild"
    blue_green = "blue-green"


# Why a server does not take an option.
_ELSEWHERE = "on the server's machine: windrow plan FILE --rehearse --state DATA/jobs/NAME/state"
_WATCHES = "a server watches every version that it applies, and goes back if it fails"
_OWN = {"master": OWN_SETTINGS, "settings": OWN_SETTINGS}
_STARTS = "a server starts the job again by itself"

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Message = Annotated[str, typer.Option("--message", "-m", help="Why, for windrow history.", metavar="TEXT", show_default=False)]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="0: no change, 3: safe changes, 4: changes that need a decision.")]
How = Annotated[
    Strategy,
    typer.Option(
        "--strategy",
        help="Where the state cannot simply follow: cut over at a window boundary, mix rows of both texts in what is open, rebuild the "
        "state from the sources, or that after what both texts give was compared (blue-green).",
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
    token_file: ServerToken = None,
) -> None:
    """Show what a changed file would do to the state of its jobs, and change nothing."""
    from windrow.cli.change_text import exit_of
    from windrow.jobs.change_records import review_record

    if (remote := remote_job(server, file, env, state, token_file)) is not None:
        from windrow.cli.remote_changes import plan_there

        refuse_given(context, {"rehearse": _ELSEWHERE, "batches": _ELSEWHERE, "master": OWN_SETTINGS, "settings": OWN_SETTINGS})
        jobs = plan_there(remote, form, strategy=strategy.value)["content"]["jobs"]
        _exit(exit_code, map(exit_of, jobs))
        return
    found = [(switch, switch.review(_strategy(strategy))) for switch in job_switches(file, state, settings, env)]
    if form is Form.json and not rehearse:
        print_records([review_record(review) for _, review in found])
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
    token_file: ServerToken = None,
) -> None:
    """Carry the state of a file's jobs over to its present text and watch it work. A job that runs is stopped at a batch's end."""
    if (remote := remote_job(server, file, env, state, token_file)) is not None:
        from windrow.cli.remote_changes import apply_there

        refuse_given(
            context, {"watch": _WATCHES, "watch_seconds": _WATCHES, "run": _STARTS, "master": OWN_SETTINGS, "settings": OWN_SETTINGS}
        )
        apply_there(remote, yes=yes, message=message, strategy=strategy.value)
        return
    from windrow.cli.building import Told, build_and_apply
    from windrow.jobs.authors import git_commit, user_name
    from windrow.jobs.switching import refused

    switches = [(switch, switch.review(_strategy(strategy))) for switch in job_switches(file, state, settings, env)]
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
    done = [switch for switch, _ in changed]
    told = Told(message=message, who=user_name(), commit=git_commit(file))
    if _strategy(strategy).builds and changed:
        stop = partial(stop_running_jobs, [switch for switch, _ in switches])
        compiled, given = compiled_file(file, env), _settings(file, env, settings)
        build_and_apply(changed, compiled, _strategy(strategy), told, stop, _master(file, env, master), given, is_final=not watch, yes=yes)
    else:
        stop_running_jobs(switch for switch, _ in switches)
        for switch, _ in changed:
            switch.apply(strategy=_strategy(strategy), is_final=not watch, **told)
    for switch, review in changed:
        # Not from what was looked at before: a job that ran has gone on since.
        print(f"job {review.job} is version {present_version(switch).number} from batch {present_version(switch).since + 1} on")
    if watch:
        _watch(file, env, state, [*done, *unseen], watch_seconds, master, settings)
    if run:
        from windrow.cli.run import run as run_on

        run_on(file, env=env, state=state, master=master, settings=settings)
        return
    words = "".join(f" --{name} {value}" for name, value in (("env", env), ("state", state)) if value)
    print(f"   nothing runs now. Go on: windrow run {file}{words}    go back: windrow rollback {file}{words}")


def _settings(file: str, env: str | None, settings: list[str] | None) -> dict[str, str]:
    from windrow.cli.project import chosen_for
    from windrow.cli.set_options import read_settings

    return {**chosen_for(file, env).settings, **read_settings(settings or [])}


def _master(file: str, env: str | None, master: str | None) -> str:
    from windrow.cli.project import chosen_for
    from windrow.settings import load_settings

    return chosen_for(file, env).master(master, load_settings())


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
    from windrow.jobs.options import session_settings
    from windrow.jobs.rehearsal import rehearse
    from windrow.settings import load_settings
    from windrow.spark.internals.java_process import stop_session

    changed = [switch for switch, review in found if review.changes and review.can_apply and review.batch >= 0]
    rehearsals = {}
    if changed:
        chosen = chosen_for(file, env)
        given = {**chosen.settings, **read_settings(settings or [])}
        own = {key: value for key, value in given.items() if key not in session_settings(given)}
        spark = start_spark(chosen.master(master, load_settings()), session_settings(given))
        try:
            for switch in changed:
                compiled = compiled_file(file, env)
                rehearsals[switch.job.name] = rehearse(switch, compiled, batches=batches, strategy=strategy, spark=spark, settings=own)
        finally:
            stop_session(spark)
    if is_json:
        print_records([{**review_record(review), "rehearsal": rehearsal_record(rehearsals.get(review.job))} for _, review in found])
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
        can_mix, can_build = (
            not review.can_apply and switch.review(strategy).can_apply for strategy in (JobStrategy.MIX, JobStrategy.REBUILD)
        )
        texts.append(text_of(review_record(review), can_mix=can_mix, can_build=can_build))
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
    from windrow.jobs.options import RunOptions, session_settings
    from windrow.jobs.trial import COMMITS, prove
    from windrow.settings import load_settings
    from windrow.spark.internals.java_process import stop_session

    chosen = chosen_for(file, env)
    given = {**chosen.settings, **read_settings(settings or [])}
    own = {key: value for key, value in given.items() if key not in session_settings(given)}
    options = RunOptions("continuous", _state_path(file, state, env), settings=own)
    print(f"   watching it for {COMMITS} batches, or {seconds:g} s")
    try:
        spark = start_spark(chosen.master(master, load_settings()), session_settings(given))
        try:
            seen = prove(switches, compiled_file(file, env), options, spark=spark, seconds=seconds, tell=_tell_commit, who=user_name())
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


def _state_path(file: str, state: str | None, env: str | None) -> str:
    from windrow.cli.files import stem
    from windrow.cli.project import chosen_for
    from windrow.settings import load_settings

    return chosen_for(file, env).state(state, load_settings(), stem(file))


def _strategy(chosen: Strategy) -> JobStrategy:
    from windrow.changes import Strategy as JobStrategy

    return JobStrategy(chosen.value)
