"""``windrow ops``: what Prometheus and Grafana need to watch the jobs of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.cli.arguments import Env, Settings, SqlFile
from windrow.cli.files import stem
from windrow.cli.project import chosen_for, compile_chosen

if TYPE_CHECKING:
    from windrow.compiler import Compiled


def print_rules(file: SqlFile, settings: Settings = None, env: Env = None) -> None:
    """Print Prometheus rules for the jobs of a file, with the @alerts that it has."""
    import yaml

    from windrow.cli.set_options import read_settings
    from windrow.jobs.options import SPARK, RunOptions
    from windrow.observe.rules import rule_groups

    compiled = _compiled(file, env)
    own = {key: value for key, value in read_settings(settings or []).items() if not key.startswith(SPARK)}
    metrics = [metric for _, metric in compiled.plan.metrics]
    names = [job.name for job in compiled.plan.jobs]
    groups = rule_groups(names, metrics, compiled.plan.alerts, RunOptions(settings=own).stalled_after)
    print(yaml.safe_dump(groups, sort_keys=False, allow_unicode=True, width=1000), end="")


def print_dashboards(file: SqlFile, env: Env = None) -> None:
    """Print a Grafana board for the jobs of a file, as JSON."""
    import json

    from windrow.observe.dashboards import dashboard
    from windrow.plan.stages import LoadTable, Read, Write

    compiled = _compiled(file, env)
    jobs = compiled.plan.jobs
    stages = (stage for job in jobs for stage in job.stages if not isinstance(stage, Read | LoadTable | Write) and "/" not in stage.name)
    board = dashboard(stem(file), [job.name for job in jobs], [stage.name for stage in stages], compiled.plan.metrics)
    print(json.dumps(board, indent=1, ensure_ascii=False))


def _compiled(file: str, env: str | None) -> Compiled:
    from windrow.cli import codes
    from windrow.errors import UsageError

    compiled = compile_chosen(file, chosen_for(file, env))
    if not compiled.plan.jobs:
        raise UsageError(
            codes.NOTHING_TO_RUN, "there is nothing to watch: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT"
        )
    return compiled
