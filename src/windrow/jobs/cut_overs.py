"""A job between two texts: what ``job.json`` says of the cut, the job that runs meanwhile, and whether the old text is done.

Nothing is noted when it is done: the watermark of a batch tells, so a job that is taken back to an earlier batch has both texts again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from windrow.changes import calls, other_functions
from windrow.errors import JobError
from windrow.jobs.saved_text import as_it_is, saved_job
from windrow.model.window_kinds import FixedKind
from windrow.plan.beginnings import with_beginnings
from windrow.plan.cut_over import CutOver, closed_for_good, of_old_text, stands_twice, with_both
from windrow.plan.explain_json import job_to_json, stage_to_json
from windrow.plan.fingerprint import fingerprint
from windrow.plan.stages import Aggregate, Job
from windrow.plan.window_cut import common_start
from windrow.settings import environment
from windrow.spark.execution.time_sources import roots_of
from windrow.spark.execution.watermarks import Watermarks
from windrow.spark.state.job_state import JobState, stage_of
from windrow.storage import Folder
from windrow.windowing.clock import Clock

CUT = "cut"
VERSIONS = "versions"


def cut_of(card: Mapping[str, Any]) -> CutOver | None:
    told = card.get(CUT)
    return None if told is None else CutOver(int(told["at"]), int(told["version"]), tuple(told["stages"]))


def cut_json(cut: CutOver, file: str) -> dict[str, Any]:
    return {"at": cut.at, "version": cut.version, "stages": list(cut.stages), "file": file}


def as_it_runs(job: Job, folder: Folder, card: Mapping[str, Any], *, is_looked_at: bool = True) -> Job:
    """The job with what its past asks of it: new aggregates that are not whole yet, and the stages of a text that still has windows.

    One that is more than looked at counts rows for these windows, so their functions must be what they were.
    """
    told, begins = card.get(CUT), dict(card.get("beginnings", {}))
    cut = cut_of(card)
    if cut is None or told is None or fingerprint(job_to_json(job)) != card["fingerprint"]:
        return with_beginnings(job, begins)
    before = json.loads(folder.child(VERSIONS).read(f"{cut.version}.json"))
    old = saved_job(before, as_it_is(str(told["file"]), environment()))
    if not is_looked_at:
        _refuse_other_functions(before, old, job, cut)
    begins.update({cut.earlier(name): calls for name, calls in before.get("beginnings", {}).items() if name in cut.stages})
    return with_beginnings(with_both(old, job, cut), begins)


def _refuse_other_functions(before: Mapping[str, Any], old: Job, new: Job, cut: CutOver) -> None:
    for name, told in functions_lost(before, old, new, cut.stages).items():
        message = f"function {name} of version {cut.version} of job {old.name} is another now, and windows of that version are open: {told}"
        raise JobError("WR671", message, "put it back until they are closed; windrow plan FILE says when that is")


def functions_lost(card: Mapping[str, Any], old: Job, new: Job, stages: tuple[str, ...]) -> dict[str, str]:
    """The functions that windows of a version need, and that are not what they were when the version was written."""
    others = other_functions(card["plan"], job_to_json(old))
    asked = [stage_to_json(stage) for stage in stands_twice(old, new, stages)]
    return {name: told for name, told in others.items() if any(calls(stage, name) for stage in asked)}


def first_cut(old: Job, new: Job, stages: tuple[str, ...], state: JobState, version: int) -> CutOver | None:
    """At the first start of windows of both texts above every event time that was seen; None where they never start together."""
    roots = roots_of(old)
    clocks = {read.name: (state.clocks.get(read.name), read.clock.delay) for read in old.reads}
    sources = {root for name in stages for root in roots[name]}
    seen = [at for source in sources if (at := _reached(*clocks[source])) is not None]
    grouping = [stage for job in (old, new) for name in stages if isinstance(stage := job.stage(name), Aggregate)]
    kinds = [stage.window for stage in grouping if isinstance(stage.window, FixedKind)]
    at = common_start(kinds, max(seen, default=0))
    return None if at is None else CutOver(at, version, stages)


def _reached(clock: Clock | None, delay: int) -> int | None:
    if clock is None:
        return None
    times = [part.greatest for part in clock.partitions.values()] + [clock.watermark(delay)]
    return max((at for at in times if at is not None), default=None)


def is_over(running: Job, state: JobState) -> bool:
    """Whether the windows of the old text are closed for good."""
    return not waits_for(running, state)


def waits_for(running: Job, state: JobState) -> dict[str, int]:
    """Of each stage that still has windows which start before the cut, the watermark at which the last of them takes no row any more."""
    marks = Watermarks(running, {})
    found = {}
    for name, at in closed_for_good(running).items():
        stage = running.stage(name)
        assert isinstance(stage, Aggregate)
        now = marks.of(stage, state.clocks, state.counters)
        if now is None or now < at:
            found[name] = at
    return found


def forget_old(running: Job, state: JobState) -> None:
    """Let go of what is kept of an old text whose windows are closed."""
    old = {stage.name for stage in of_old_text(running)}
    state.tables = {name: tables for name, tables in state.tables.items() if stage_of(name)[0] not in old}
    state.schemas = {name: schema for name, schema in state.schemas.items() if name not in old}
