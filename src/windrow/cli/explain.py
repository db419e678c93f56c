"""``windrow explain``: the plan that ``run`` would execute, and with ``--analyze`` what a run of it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Settings, Shape, ShapeOption, SqlFile, State
from windrow.cli.observing import NEWEST, JobName, Newest, observed_jobs, print_json
from windrow.cli.project import chosen_for, compile_chosen

if TYPE_CHECKING:
    from windrow.diagnosis.analysis import Analysis
    from windrow.jobs.observed import ObservedJob

Analyze = Annotated[bool, typer.Option("--analyze", help="With what the batches of the running or the last run did.")]
Drawn = Annotated[bool, typer.Option("--topology", help="Boxes and arrows, with the numbers of the last run where there is one.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="With --analyze: what explain says of each stage, too.")]
Span = Annotated[
    str | None, typer.Option("--for", help="With --analyze: the batches of the time from now on.", metavar="DURATION", show_default=False)
]


def explain_file(
    file: SqlFile,
    shape: ShapeOption = Shape.text,
    analyze: Analyze = False,
    topology: Drawn = False,
    verbose: Verbose = False,
    span: Span = None,
    batches: Newest = NEWEST,
    state: State = None,
    job: JobName = None,
    settings: Settings = None,
    env: Env = None,
) -> None:
    """Show how a file would run, and why so, without starting Spark. With --analyze: how it does run."""
    from windrow.cli.times import option_duration
    from windrow.errors import UsageError

    if (span is not None or verbose) and not analyze:
        option, value = ("--for", f" {span}") if span is not None else ("--verbose", "")
        raise UsageError(codes.CONFLICT, f"{option} belongs to --analyze", f"windrow explain {file} --analyze {option}{value}")
    seconds = None if span is None else option_duration("--for", span) / 1e9
    if topology or shape in (Shape.dot, Shape.svg):
        _topology(file, shape, state, job, settings, batches, env)
    elif analyze:
        _analyze(file, observed_jobs(file, state, job, settings, env), shape, batches, seconds, is_verbose=verbose)
    else:
        _plan(file, shape, env, state, settings)


def _plan(file: str, shape: Shape, env: str | None, state: str | None, settings: list[str] | None) -> None:
    """For a run with these settings and those of the environment."""
    from windrow.cli.files import stem
    from windrow.cli.set_options import read_settings
    from windrow.jobs.options import RunOptions
    from windrow.plan.explain import explain
    from windrow.settings import load_settings

    chosen, defaults = chosen_for(file, env), load_settings()
    compiled = compile_chosen(file, chosen)
    own = {**chosen.settings, **read_settings(settings or [])}
    options = RunOptions(state=chosen.state(state, defaults, stem(file)), master=chosen.master(None, defaults), settings=own)
    print(explain(compiled.plan, "json" if shape is Shape.json else "mermaid" if shape is Shape.mermaid else "text", options.wishes()))


def _analyze(file: str, jobs: list[ObservedJob], shape: Shape, batches: int, seconds: float | None, *, is_verbose: bool) -> None:
    from windrow.diagnosis.explained import analysis_json, analysis_text
    from windrow.diagnosis.findings import findings

    told: list[Any] = []
    for observed in jobs:
        analysis = analysis_of(observed, batches, seconds)
        found = findings(analysis, observed.heaviest(), observed.notes(), file)
        if shape is Shape.json:
            told.append(analysis_json(analysis, found))
        elif shape is Shape.mermaid:
            from windrow.diagnosis.topology import topology_of
            from windrow.graphs import draw

            print(draw(topology_of(observed.job, analysis), "mermaid"))
        else:
            print(f"{standing(observed, analysis)}\n{analysis_text(analysis, found, is_verbose=is_verbose)}")
    if shape is Shape.json:
        print_json(told)


def analysis_of(observed: ObservedJob, batches: int, seconds: float | None = None) -> Analysis:
    """The newest batches, or those of a time: from now on for a running job, and the end of what a stopped one did."""
    from windrow.diagnosis.analysis import analyze

    if seconds is None:
        return analyze(observed.job, observed.last_run(batches))
    if observed.runner is not None:
        return analyze(observed.job, observed.observe(seconds))
    records = observed.last_run(1_000_000)
    return analyze(observed.job, [record for record in records if record.at >= records[-1].at - seconds * 1e6])


def standing(observed: ObservedJob, analysis: Analysis) -> str:
    """Whether the job runs, and which batches are meant."""
    from windrow.cli.screen import show_micros

    first, last = analysis.records[0].batch_id, analysis.last.batch_id
    which = f"batch {last}" if first == last else f"batches {first} to {last}"
    return f"{observed.standing}; {which}, the last committed at {show_micros(analysis.last.at)}"


def _topology(
    file: str, shape: Shape, state: str | None, job: str | None, settings: list[str] | None, batches: int, env: str | None
) -> None:
    """With numbers where the job has run; the plan alone where it has not."""
    from windrow.diagnosis.analysis import analyze
    from windrow.diagnosis.topology import topology_json, topology_of
    from windrow.errors import UsageError
    from windrow.graphs import draw

    compiled = compile_chosen(file, chosen_for(file, env))
    drawn = []
    for one in compiled.plan.jobs:
        if job is not None and one.name != job:
            continue
        try:
            (observed,) = observed_jobs(file, state, one.name, settings, env)
            analysis = analyze(one, observed.last_run(batches))
        except UsageError as error:
            if error.code not in (codes.NO_STATE, codes.NO_BATCH):
                raise
            analysis = None
        drawn.append(topology_of(one, analysis))
    if shape is Shape.json:
        print_json([topology_json(one) for one in drawn])
        return
    print("\n\n".join(draw(one, shape.value) for one in drawn) if drawn else "no job: the file only defines sources")
