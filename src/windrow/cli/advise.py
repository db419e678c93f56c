"""``windrow advise``: what would make a job's results more complete or sooner, from the batches that it ran. Starts no Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.cli.arguments import Env, Form, FormOption, Reach, SqlFile, State
from windrow.cli.observing import JobName, Newest, observed_jobs, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from windrow.diagnosis.analysis import Analysis

_NEWEST = 1000


def advise(
    file: SqlFile,
    batches: Newest = _NEWEST,
    state: State = None,
    job: JobName = None,
    form: FormOption = Form.text,
    settings: Reach = None,
    env: Env = None,
) -> None:
    """Say what a job could do better, each with its figures and the line to write: lateness, partitions, state, sinks, filters."""
    from windrow.cli.explain import analysis_of, standing
    from windrow.cli.screen import say, screen
    from windrow.diagnosis.explained import counted
    from windrow.diagnosis.findings import findings

    console = screen()
    told: list[Any] = []
    for observed in observed_jobs(file, state, job, settings, env):
        analysis = analysis_of(observed, batches)
        found = findings(analysis, observed.heaviest(), observed.notes(), file)
        if form is Form.json:
            told.append({"job": observed.job.name, "batches": len(analysis.records), "findings": [one.to_json() for one in found]})
            continue
        say(console, f"job {observed.job.name}: {standing(observed, analysis)}")
        if not found:
            show = "shows" if len(analysis.records) == 1 else "show"
            say(console, f"nothing to advise: {counted(len(analysis.records))} with {analysis.rows_in:,} rows {show} no fault")
        for number, one in enumerate(found, 1):
            say(console, f"{number}. {one.text}")
            if one.line is not None:
                say(console, f"   {one.line}")
        _curves(analysis, console)
    if form is Form.json:
        print_json(told)


def _curves(analysis: Analysis, console: Console) -> None:
    """Of the late rows of every statement, what each longer delay or lateness would have taken."""
    from windrow.cli.screen import say, table
    from windrow.diagnosis.findings import source_of
    from windrow.diagnosis.tuning import rounded_up, tuning_curve
    from windrow.plan.stages import Aggregate
    from windrow.sql.durations import show_duration

    for name, own in analysis.statements.items():
        curve = tuning_curve(own.late_by, own.corrected_by)
        if not curve:
            continue
        source = source_of(analysis, name)
        delay = 0 if source is None else analysis.sources[source].clock.delay
        total, corrected = curve[0].total, curve[0].corrected
        # A source drops rows by its watermark alone.
        has_lateness = total > 0 and any(stage.name == name and isinstance(stage, Aggregate) for stage in analysis.job.stages)
        kinds = [f"{total:,} too late"] if total else []
        kinds += [f"{corrected:,} taken as corrections"] if corrected else []
        why = "a longer delay makes every result later" + (", a longer lateness corrects it afterwards" if has_lateness else "")
        say(console, f"\nlate rows of {name}: {', '.join(kinds)}; {why}")
        lateness = ["or ALLOWED_LATENESS"] if has_lateness else []
        made = table(
            "watermark.delay",
            *lateness,
            *(["takes>"] if total else []),
            *(["no correction>"] if corrected else []),
            "of the late>",
            "results later by>",
        )
        for point in curve:
            wanted = rounded_up(delay + point.extra)
            longer = [show_duration(rounded_up(own.last.lateness + point.extra))] if has_lateness else []
            taken = [f"{point.saved:,}"] if total else []
            spared = [f"{point.in_time:,}"] if corrected else []
            made.add_row(show_duration(wanted), *longer, *taken, *spared, f"{point.share:.0%}", show_duration(wanted - delay))
        console.print(made)
