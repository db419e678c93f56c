"""``windrow ops``: what Prometheus and Grafana need to watch the jobs of a file, or of all files of a project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli.arguments import Env, Settings
from windrow.cli.files import stem
from windrow.cli.project import chosen_for, compile_chosen, expanded, is_project

if TYPE_CHECKING:
    from windrow.model.notes import Alert, Metric
    from windrow.plan.stages import Job

Watched = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A SQL file; - reads standard input. A folder with windrow.yaml: all its files.", show_default=False
    ),
]


def print_rules(file: Watched, settings: Settings = None, env: Env = None) -> None:
    """Print Prometheus rules for the jobs of a file or project, with the @alerts that it has."""
    from windrow.cli.set_options import read_settings
    from windrow.jobs.options import SPARK

    own = {key: value for key, value in read_settings(settings or []).items() if not key.startswith(SPARK)}
    print(rules_text(file, env, own), end="")


def print_dashboards(file: Watched, env: Env = None) -> None:
    """Print a Grafana board for the jobs of a file or project, as JSON."""
    print(board_text(file, env), end="")


def rules_text(file: str, env: str | None = None, settings: Mapping[str, str] | None = None) -> str:
    """A file of rules for Prometheus."""
    import yaml

    from windrow.jobs.options import RunOptions
    from windrow.observe.rules import rule_groups

    jobs = _jobs_of(file, env)
    stalled = RunOptions(settings=dict(settings or {})).stalled_after
    groups = rule_groups([job.name for job in jobs.jobs], [metric for _, metric in jobs.metrics], jobs.alerts, stalled)
    return str(yaml.safe_dump(groups, sort_keys=False, allow_unicode=True, width=1000))


def board_text(file: str, env: str | None = None) -> str:
    """A board for Grafana to import. That of a project has the name of its folder."""
    import json

    from windrow.observe.dashboards import dashboard
    from windrow.plan.stages import LoadTable, Read, Write

    jobs = _jobs_of(file, env)
    stages = [
        stage for job in jobs.jobs for stage in job.stages if not isinstance(stage, Read | LoadTable | Write) and "/" not in stage.name
    ]
    title = Path(file).resolve().name if is_project(file) else stem(file)
    # A statement of a file that all others read stands in each of their jobs.
    names = list(dict.fromkeys(stage.name for stage in stages))
    return json.dumps(dashboard(title, [job.name for job in jobs.jobs], names, jobs.metrics), indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class _Jobs:
    """``metrics`` are those of annotations, by statement."""

    jobs: tuple[Job, ...]
    metrics: tuple[tuple[str, Metric], ...]
    alerts: tuple[Alert, ...]


def _jobs_of(file: str, env: str | None) -> _Jobs:
    from windrow.cli import codes
    from windrow.errors import UsageError

    plans = [compile_chosen(one, chosen_for(one, env)).plan for one in expanded([file], env)]
    found = _Jobs(
        tuple(job for plan in plans for job in plan.jobs),
        tuple(dict.fromkeys(metric for plan in plans for metric in plan.metrics)),
        tuple(dict.fromkeys(alert for plan in plans for alert in plan.alerts)),
    )
    if not found.jobs:
        raise UsageError(
            codes.NOTHING_TO_RUN, "there is nothing to watch: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT"
        )
    return found
