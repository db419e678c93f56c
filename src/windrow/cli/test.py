"""``windrow test``: runs case files and says what failed."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import randrange
from typing import TYPE_CHECKING, Annotated, Any, Protocol

import typer

from windrow.cli import codes
from windrow.cli.app import FAILED, describe_unexpected
from windrow.cli.arguments import (
    Batches,
    CaseFiles,
    Cut,
    EngineKind,
    EngineOption,
    Env,
    Granularity,
    HomeOption,
    InputFormat,
    InputOption,
    Judging,
    Junit,
    Master,
    Only,
    PathsOption,
    Seed,
    StateHome,
    Switch,
)
from windrow.cli.project import chosen_for, files_of, is_project

if TYPE_CHECKING:
    from windrow.testing import Case, Verdict


def run_cases(
    files: CaseFiles,
    env: Env = None,
    junit: Junit = None,
    engine: EngineOption = EngineKind.direct,
    input_format: InputOption = None,
    fast_paths: PathsOption = Switch.on,
    only: Only = None,
    batches: Batches = None,
    seed: Seed = None,
    granularity: Judging = Granularity.batch,
    home: HomeOption = StateHome.resident,
    restarts: Annotated[bool, typer.Option("--restarts", help="Stop and resume after every batch.")] = False,
    master: Master = None,
) -> None:
    """Run case files: a query, its input rows, and what must come out. The last line is "N passed, N failed"."""
    cases = _load(files, only, env)
    seed = _seed(batches, seed)
    _check_format(engine, input_format)
    ways: dict[str, Any] = {"streaming": engine is EngineKind.streaming, "restart_every_batch": restarts, "home": home.value}
    ways |= {"input_format": input_format and input_format.value, "fast_paths": fast_paths is Switch.on}
    ways |= {"batches": batches and batches.value, "seed": seed, "granularity": granularity.value}
    bench = Bench(ways, master)
    verdicts: list[Verdict] = []
    try:
        with _progress(len(cases)) as progress:
            for case in cases:
                progress.show(case.name)
                verdict = bench.run(case)
                verdicts.append(verdict)
                if not verdict.passed and verdict.skipped is None:
                    progress.say(failure_line(verdict))
                progress.advance()
    finally:
        bench.close()
    if junit is not None:
        from windrow.testing.junit import write_junit

        write_junit(verdicts, junit)
    if batches is Cut.random:
        print(f"batches were cut at random; the same again: --batches random --seed {seed}")
    for line in summary(verdicts):
        print(line)
    if not all(verdict.passed or verdict.skipped for verdict in verdicts):
        raise typer.Exit(FAILED)


def _seed(batches: Cut | None, seed: int | None) -> int:
    from windrow.errors import UsageError

    if seed is not None and batches is not Cut.random:
        raise UsageError(codes.CONFLICT, "--seed is for batches that are cut at random", "--batches random --seed 7")
    return randrange(1_000_000) if seed is None else seed


def _check_format(engine: EngineKind, input_format: InputFormat | None) -> None:
    from windrow.errors import UsageError

    if input_format is not None and engine is not EngineKind.streaming:
        hint = f"--engine streaming --format {input_format.value}"
        raise UsageError(codes.CONFLICT, "--format is for rows that come through Structured Streaming", hint)


def _load(files: list[Path], only: str | None, env: str | None) -> list[Case]:
    from windrow.errors import UsageError
    from windrow.testing import load_cases

    cases: list[Case] = []
    for file in files:
        if is_project(str(file)):
            # What a query means does not depend on where it runs, unless one asks for that.
            chosen = chosen_for(str(file), env or "")
            cases += [case for found in files_of(chosen, "cases") for case in load_cases(found, chosen.environment)]
        else:
            cases += load_cases(file, chosen_for(str(file), env).environment if env else None)
    wanted = [case for case in cases if only is None or only.lower() in case.name.lower()]
    if not wanted:
        what = "the files hold no case" if not cases else f"no name of {len(cases)} cases has {only!r} in it"
        raise UsageError(
            codes.NO_CASE, what, "one JSON object a line, with name, sql, input and expected" if not cases else "try a shorter --filter"
        )
    return wanted


class _NeedsSpark(BaseException):
    """Said by the stand-in for a session. No error: nothing on the way may take it for one."""


class _NoSession:
    """Stands in for a session until a case really uses one. Cases that fail in the checks never do."""

    def __getattr__(self, name: str) -> Any:
        raise _NeedsSpark(name)


class Bench:
    """Runs cases, starting Spark when the first one needs it."""

    def __init__(self, ways: Mapping[str, Any], master: str | None) -> None:
        self._ways = ways
        self._master = master
        self._session: Any = _NoSession()

    def run(self, case: Case) -> Verdict:
        from windrow.testing import CaseRunner, Verdict

        try:
            return CaseRunner(self._session, **self._ways).run(case)
        except _NeedsSpark:
            self._start()
            return self.run(case)
        except Exception as error:
            return Verdict(case, False, describe_unexpected(error), codes.UNEXPECTED)

    def _start(self) -> None:
        from windrow.cli.spark_start import start_spark
        from windrow.settings import load_settings

        self._session = start_spark(self._master or load_settings().default_master)

    def close(self) -> None:
        if not isinstance(self._session, _NoSession):
            self._session.stop()


# A difference of more lines than this is cut: the first ones tell.
MOST_LINES = 14


def failure_line(verdict: Verdict) -> str:
    """Which case failed and how: the whole difference, indented, so that nobody has to run it again to see it."""
    lines = [line.rstrip() for line in verdict.message.splitlines() if line.strip()] or ["failed"]
    head = f"FAIL {verdict.case.file} {verdict.case.name}: {lines[0].strip()}"
    if verdict.is_unsupported:
        return head
    return "\n".join([head, *(f"     {line}" for line in lines[1:MOST_LINES])])


def summary(verdicts: list[Verdict]) -> list[str]:
    """What failed, grouped; the last line is always the count."""
    skipped = [verdict for verdict in verdicts if verdict.skipped is not None]
    failed = [verdict for verdict in verdicts if not verdict.passed and verdict.skipped is None]
    unsupported = [verdict for verdict in failed if verdict.is_unsupported]
    lines: list[str] = []
    if unsupported:
        gaps = Counter(_gap(verdict) for verdict in unsupported)
        shown = ", ".join(f"{what} {count}" for what, count in gaps.most_common())
        lines.append(f"{len(unsupported)} of {len(failed)} failures are not supported yet (WR290): {shown}")
    lines.extend(f"{count} skipped: {why}" for why, count in Counter(verdict.skipped for verdict in skipped).most_common())
    seconds = sum(verdict.seconds for verdict in verdicts)
    counted = f"{len(verdicts)} case{'' if len(verdicts) == 1 else 's'}"
    lines.append(f"{counted} in {seconds:.1f} s, {seconds / max(1, len(verdicts)):.2f} s each")
    passed = len(verdicts) - len(failed) - len(skipped)
    return [*lines, f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else "")]


def _gap(verdict: Verdict) -> str:
    """The feature that is missing: ``joins`` of "[WR290] joins are not supported yet"."""
    line = next((line for line in verdict.message.splitlines() if "[WR290]" in line), "")
    what = line.partition("] ")[2].removesuffix(" not supported yet")
    return what.removesuffix(" are").removesuffix(" is") or "other"


class _Progress(Protocol):
    def show(self, name: str) -> None: ...
    def say(self, line: str) -> None: ...
    def advance(self) -> None: ...


class _Silent:
    """Where nobody watches, only failures are worth a line."""

    def show(self, name: str) -> None: ...

    def say(self, line: str) -> None:
        print(line, flush=True)

    def advance(self) -> None: ...


@contextmanager
def _progress(total: int) -> Iterator[_Progress]:
    if not sys.stdout.isatty():
        yield _Silent()
        return
    from windrow.cli.progress import Bar

    with Bar(total) as bar:
        yield bar
