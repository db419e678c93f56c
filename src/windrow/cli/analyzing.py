"""EXPLAIN ANALYZE in a file or in the shell: the batches of the file's own job, looked up in its state folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from windrow.cli import codes
from windrow.model.statement import Explain, SelectStatement

if TYPE_CHECKING:
    from windrow.introspection import Answer
    from windrow.plan.stages import Job


def answered(answer: Answer, jobs: Sequence[Job], state: str, settings: Mapping[str, str] | None = None) -> str:
    """The text of an answer; ``jobs`` are those of the file, ``state`` the folder of all of them, which ``settings`` of Spark may open."""
    statement = answer.statement
    if not isinstance(statement, Explain) or not statement.options.analyze:
        return str(answer)
    from windrow.cli.observing import NEWEST
    from windrow.diagnosis.analysis import analyze
    from windrow.diagnosis.explained import analysis_json, analysis_text
    from windrow.diagnosis.findings import findings
    from windrow.diagnosis.topology import topology_json, topology_of
    from windrow.graphs import draw
    from windrow.jobs.observed import ObservedJob
    from windrow.jobs.options import SPARK
    from windrow.jobs.state_folder import state_folder

    spark = {key: value for key, value in (settings or {}).items() if key.startswith(SPARK)}
    observed = ObservedJob.of(_job_of(statement, jobs), state_folder(state, settings=spark))
    analysis = analyze(observed.job, observed.last_run(NEWEST))
    how, form = statement.options, statement.options.format.lower()
    if how.topology or form == "mermaid":
        drawn = topology_of(observed.job, analysis)
        return _json(topology_json(drawn)) if form == "json" else draw(drawn, form)
    found = findings(analysis, observed.heaviest(), observed.notes())
    return _json(analysis_json(analysis, found)) if form == "json" else analysis_text(analysis, found, is_verbose=how.verbose)


def _json(value: object) -> str:
    import json

    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _job_of(statement: Explain, jobs: Sequence[Job]) -> Job:
    """The job of the file that runs the statement: by its name, and for a bare SELECT the only one there is."""
    from windrow.errors import UsageError

    inner = statement.statement
    name = str(getattr(inner, "name", "")).lower()
    found = [job for job in jobs if any(stage.name.lower() == name for stage in job.stages)]
    if isinstance(inner, SelectStatement) and len(jobs) == 1:
        found = list(jobs)
    if found:
        return found[0]
    what = "this SELECT" if isinstance(inner, SelectStatement) else str(getattr(inner, "name", "this statement"))
    named = "EXPLAIN ANALYZE CREATE STREAM name AS ..."
    hint = f"only what the file runs can be analyzed: {named}, or windrow explain FILE --analyze"
    raise UsageError(codes.NO_SUCH_STATEMENT, f"no job of the file runs {what}, so there is nothing to analyze", hint)
