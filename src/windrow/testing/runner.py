"""Runs a case: compiles its SQL, feeds its rows batch by batch, and compares what comes out."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polars.exceptions import PanicException

from windrow.catalog import Relation
from windrow.catalog.inserting import inserts_of
from windrow.compiler import Compiled, compile_script
from windrow.config import TOP, case_text, find_project, resolve
from windrow.connectors.zones import in_zone
from windrow.errors import Diagnostic, SqlError, UsageError, WindrowError
from windrow.jobs.failures import as_job_error, is_sparks
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable, CreateTableAs, InsertInto, Script, SelectStatement
from windrow.model.zone import UTC
from windrow.plan import bare_names
from windrow.settings import environment
from windrow.spark.session import adopt_session
from windrow.sql import parse
from windrow.storage import Files
from windrow.testing.batches import Action, Advance, End, Feed, Force, Restart, schedule
from windrow.testing.case import Case
from windrow.testing.compare import difference, plain
from windrow.testing.engine import DirectEngine, Engine, Outcome
from windrow.testing.file_inputs import NotAsFilesError, why_not_as_files
from windrow.testing.inference import (
    created_names,
    from_case,
    infer_columns,
    memory_sources,
    memory_stream,
    memory_table,
    read_names,
    table_names,
)
from windrow.testing.streaming import StreamingEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOT_SUPPORTED = "WR290"
NO_WORKER = "WR851"
_TRIES = 3


@dataclass(frozen=True)
class Verdict:
    """How a case ended. ``code`` is the error code where it ended in one."""

    case: Case
    passed: bool
    message: str = ""
    code: str | None = None
    seconds: float = 0.0
    # Why the case cannot go the way that was asked for; it has neither passed nor failed then.
    skipped: str | None = None

    @property
    def is_unsupported(self) -> bool:
        return self.code == NOT_SUPPORTED


class CaseRunner:
    """``streaming`` goes through Structured Streaming with a real checkpoint; ``restart_every_batch`` stops and resumes at each boundary.
    With an ``input_format`` as well, rows are files (JSON lines or Parquet) of the files connector. Without ``fast_paths``, Spark is
    called in public ways only.

    ``batches`` overrides how a case's rows are cut; at "random", what comes out is compared in any order, and ``seed`` gives the same
    batches again. ``home`` says where state lives: in the driver, or "distributed" on the executors; it is in ``buckets`` where these do
    not see this machine's disk. ``granularity`` is the 'watermark.granularity' of streams that a case does not declare.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        streaming: bool = False,
        restart_every_batch: bool = False,
        batches: str | None = None,
        home: str = "resident",
        buckets: Files | None = None,
        seed: int = 0,
        granularity: str = "batch",
        input_format: str | None = None,
        fast_paths: bool = True,
    ) -> None:
        assert input_format is None or streaming, "files are read by Structured Streaming"
        self._spark = spark
        self._streaming = streaming
        self._restarts = restart_every_batch
        self._batches = batches
        self._home = home
        self._buckets = buckets
        self._seed = seed
        self._granularity = granularity
        self._format = input_format
        self._fast_paths = fast_paths

    def run(self, case: Case) -> Verdict:
        started = time.monotonic()
        if self._format is not None and (why := why_not_as_files(case)) is not None:
            return Verdict(case, False, skipped=why)
        verdict = self._try(case)
        for _ in range(_TRIES - 1):
            # The machine had too much to do for a worker of Spark to start. That says nothing about the case.
            if verdict.code != NO_WORKER or verdict.passed:
                break
            verdict = self._try(case)
        return replace(verdict, seconds=time.monotonic() - started)

    def _try(self, case: Case) -> Verdict:
        try:
            return self._judge(case)
        except NotAsFilesError as error:
            return Verdict(case, False, skipped=str(error))
        except WindrowError as error:
            return _judge_error(case, error)
        except Exception as error:
            if not is_sparks(error):
                raise
            return _judge_error(case, as_job_error(error, case.name))
        except PanicException as error:
            # A library's native code that fails is no Exception. The next case has nothing to do with it.
            return _judge_error(case, as_job_error(RuntimeError(str(error)), case.name))

    def _judge(self, case: Case) -> Verdict:
        compiled, streams = compile_case(case, self._granularity)
        outcome = self._execute(case, compiled, streams)
        if case.expects_error:
            return Verdict(case, False, f"expected an error with {case.expected['error']!r}, but it ran")
        for answer in compiled.answers[-1:]:
            outcome.outputs.setdefault("out", [dict(row) for row in answer.to_dicts()])
        for name, expected in _expectations(case, compiled.script).items():
            rows = outcome.dead_letters if name == "dead_letters" and name not in outcome.outputs else outcome.rows_of(name)
            problem = difference(expected, [plain(row) for row in rows], self._compare(case), case.tolerance)
            if problem is not None:
                waits = outcome.still_open_of(name) if len(rows) < len(expected) else None
                return Verdict(case, False, f"{name}: {problem}" + ("" if waits is None else f"\n  {waits}"))
        if not outcome.ledger.is_balanced:
            return Verdict(case, False, f"the ledger does not add up: {outcome.ledger.to_json()}")
        if outcome.imbalances:
            return Verdict(case, False, f"rows do not add up: {outcome.imbalances[0]}")
        return Verdict(case, True)

    def outcome(self, case: Case) -> Outcome:
        """Everything that a case gives, whatever it expects."""
        return self._execute(case, *compile_case(case, self._granularity))

    def _compare(self, case: Case) -> str:
        """A batch that closes several windows puts them out by their ends, so their order is that of the batches."""
        return "any" if self._batches == "random" and case.compare == "ordered" else case.compare

    def _execute(self, case: Case, compiled: Compiled, streams: Sequence[tuple[str, Mapping[str, Any]]]) -> Outcome:
        actions = schedule(streams, self._batches or case.batches, f"{self._seed} {case.name}")
        if self._restarts:
            actions = [step for action in actions for step in ((action, Restart()) if isinstance(action, Feed) else (action,))]
        with tempfile.TemporaryDirectory(prefix="windrow-case-") as folder:
            spark = in_zone(_beside(self._spark, self._fast_paths), compiled.plan.jobs[0].time_zone if compiled.plan.jobs else UTC)
            partitions = _partitions(case, streams)
            engine: Engine
            if self._streaming:
                engine = StreamingEngine(spark, compiled, partitions, Path(folder), self._home, self._format)
            else:
                buckets = None if self._buckets is None else self._buckets.child(Path(folder).name)
                engine = DirectEngine(spark, compiled, partitions, Path(folder), self._home, buckets)
            try:
                for action in actions:
                    _apply(engine, action)
                return engine.finish()
            finally:
                engine.close()


def compile_case(case: Case, granularity: str = "batch") -> tuple[Compiled, list[tuple[str, Mapping[str, Any]]]]:
    """The plan of a case, and its rows, each with the stream it belongs to. Streams that its SQL does not create follow from the rows."""
    script = script_of(case)
    streams = _rows_by_stream(case, script)
    _refuse_rows_of_targets(case, script, streams)
    extra, added = _inferred(case, script, streams, granularity)
    compiled = compile_script(script, extra, added, bare_sink="memory", folder=(case.sql_file or Path(case.file)).parent)
    return compiled, streams


@lru_cache(maxsize=4)
def _beside(spark: SparkSession, has_fast_paths: bool) -> SparkSession:
    """Made once for a session: what a case means does not depend on its settings."""
    return adopt_session(spark, has_fast_paths=has_fast_paths)


def _apply(engine: Engine, action: Action) -> None:
    match action:
        case Feed(rows=rows):
            engine.feed(rows)
        case Advance(micros=micros):
            engine.advance_clock(micros)
        case Force(watermark=watermark):
            engine.force_watermark(watermark)
        case Restart():
            engine.restart()
        case End():
            engine.end()


def _judge_error(case: Case, error: WindrowError) -> Verdict:
    shown = str(error)
    codes = [d.code for d in error.diagnostics] if isinstance(error, SqlError) else [error.code]
    code = NOT_SUPPORTED if NOT_SUPPORTED in codes else error.code
    if not case.expects_error:
        return Verdict(case, False, shown, code)
    wanted = case.expected["error"]
    if isinstance(error, SqlError):
        # "Not supported yet" is no judgement of the query: only what is wrong with it counts.
        real = [d for d in error.diagnostics if d.code != NOT_SUPPORTED]
        if not real:
            return Verdict(case, False, f"expected an error with {wanted!r}, got only:\n{shown}", code)
        shown = "\n".join(_full(d, error) for d in real)
    passed = wanted.lower() in shown.lower()
    return Verdict(case, passed, "" if passed else f"expected an error with {wanted!r}, got:\n{shown}", code)


def _full(diagnostic: Diagnostic, error: SqlError) -> str:
    return diagnostic.render(error.source)


def script_of(case: Case) -> Script:
    """The statements that a case runs. Sources of a project's file take the rows of the case, whatever brings them otherwise."""
    if case.sql_file is None:
        return parse(case.sql, case.name, environment())
    if case.environment is not None:
        return from_case(case_text(case.sql_file, case.environment, environment())[1])
    project = find_project(str(case.sql_file))
    if project is None:
        return from_case(parse(case.sql_file.read_text(encoding="utf-8-sig"), str(case.sql_file), environment()))
    return from_case(case_text(case.sql_file, resolve(project, TOP, environment()), environment())[1])


def _rows_by_stream(case: Case, script: Script) -> list[tuple[str, Mapping[str, Any]]]:
    """Every row with the stream it belongs to, in arrival order."""
    if case.streams is not None:
        tables = table_names(script, case.tables)
        ordered = sorted(case.streams.items(), key=lambda entry: entry[0].lower() not in tables)
        every = [(name, row) for name, rows in ordered for row in rows]
        # Lists of several streams stand one after the other: the end comes when all of them have ended.
        return sorted(every, key=lambda entry: "_end" in entry[1])
    created = created_names(script)
    memory = memory_sources(script)
    inferred = [name for name in read_names(script) if name.lower() not in created]
    default = (memory + inferred or ["input"])[0]
    return [(str(row.get("_stream", default)), row) for row in case.rows or ()]


def _refuse_rows_of_targets(case: Case, script: Script, streams: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """A stream that INSERT INTO fills takes no rows from outside: a case that hands it some would lose them in silence."""
    filled = {insert.name.lower() for insert in inserts_of(script.statements)}
    given = next((name for name, _ in streams if name.lower() in filled), None)
    if given is not None:
        hint = f"hand the rows to a stream of their own, and write INSERT INTO {given} SELECT * FROM it"
        raise UsageError("WR903", f"case {case.name}: {given} is filled by INSERT INTO, and takes no rows from the input", hint)


def _inferred(
    case: Case, script: Script, streams: Sequence[tuple[str, Mapping[str, Any]]], granularity: str
) -> tuple[dict[str, Relation], tuple[CreateStream | CreateTable, ...]]:
    """The streams and tables that the SQL reads but does not create: what is known of them, and the sources that bring their rows."""
    created = created_names(script)
    tables = table_names(script, case.tables)
    extra: dict[str, Relation] = {}
    added: list[CreateStream | CreateTable] = []
    for name in read_names(script):
        if name.lower() in created or not _is_given(case, name):
            continue
        columns = infer_columns(row for stream, row in streams if stream.lower() == name.lower())
        if name.lower() in tables:
            extra[name.lower()] = Relation(name, "table", columns, is_known=bool(columns))
            added.append(memory_table(name, columns))
            continue
        extra[name.lower()] = Relation(name, "stream", columns, is_known=bool(columns))
        has_headers = any("_headers" in row for stream, row in streams if stream.lower() == name.lower())
        added.append(memory_stream(name, columns, case.delay, granularity, has_headers=has_headers))
    return extra, tuple(added)


def _is_given(case: Case, name: str) -> bool:
    if case.streams is None:
        return True
    return name.lower() in {stream.lower() for stream in case.streams}


def _partitions(case: Case, streams: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[int, ...]:
    seen = {int(row["_partition"]) for _, row in streams if row.get("_partition") is not None}
    known = set(range(case.partitions))
    return tuple(sorted(known if seen <= known else seen))


def _expectations(case: Case, script: Script) -> dict[str, list[Mapping[str, Any]]]:
    if isinstance(case.expected, dict):
        return case.expected
    running = (s for s in reversed(script.statements) if isinstance(s, CreateStreamAs | CreateTableAs | InsertInto | SelectStatement))
    last = next(running, None)
    if isinstance(last, CreateStreamAs | CreateTableAs | InsertInto):
        return {last.name: case.expected}
    return {"out" if last is None else bare_names(script)[-1]: case.expected}
