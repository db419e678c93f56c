"""``windrow ask``: SELECT over what the windows of a job have said. Starts no Spark."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli.arguments import Env, Form, FormOption, Reach, SqlFile, State
from windrow.cli.observing import JobName, observed_jobs

if TYPE_CHECKING:
    from windrow.jobs.system_sql import Result

Question = Annotated[
    str | None,
    typer.Argument(metavar="SELECT", help="SELECT ... FROM HISTORY OF a statement; without it: what is kept.", show_default=False),
]


def ask_history(
    file: SqlFile,
    question: Question = None,
    form: FormOption = Form.text,
    state: State = None,
    job: JobName = None,
    settings: Reach = None,
    env: Env = None,
) -> None:
    """Ask the history of a file's jobs: what their windows said, closed and open ones, by SELECT ... FROM HISTORY OF a statement."""
    from windrow.errors import UsageError
    from windrow.jobs.closed_windows import KEEP_SECONDS, kept_statements
    from windrow.jobs.history_sql import answer, kept_histories, overview

    jobs = observed_jobs(file, state, job, settings, env)
    kept = kept_histories(jobs)
    if not kept:
        hint = f"windrow run {file} --set {KEEP_SECONDS}=2592000 keeps what the windows of 30 days say, from then on"
        has_windows = any(kept_statements(one.job) for one in jobs)
        raise UsageError("WR655", f"no history of {file} is kept", hint if has_windows else "only windows in time have a history")
    if question is None:
        _print(overview(kept), form)
        return
    _print(answer(question, {one.name: one.rows for one in kept}), form)
    for one in kept:
        if count := one.silent():
            told = f"{count:,} windows are open and say nothing yet; TRIGGER EVERY 30s OR ON WATERMARK lets them"
            print(f"{one.name}: {told}", file=sys.stderr)


def _print(found: Result, form: Form) -> None:
    import json

    from windrow.cli.shell.system import table_text

    if form is Form.text:
        print(table_text(found.columns, found.rows, is_cut=found.is_cut))
        return
    for row in found.rows:
        print(json.dumps(dict(zip(found.columns, row, strict=True)), ensure_ascii=False))
    if found.is_cut:
        print("only the first rows: ask for less with WHERE or LIMIT", file=sys.stderr)
