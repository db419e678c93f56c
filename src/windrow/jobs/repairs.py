"""Dead letters asked and repaired by expressions of the dialect, and judged without running their job.

Who has no Spark session gets a local one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.compiler import compile_script
from windrow.connectors.runtime import RAW, SourceStream
from windrow.connectors.zones import in_zone
from windrow.errors import UsageError
from windrow.model import row_protocol
from windrow.model.constraint import Constraint
from windrow.model.expr import Expr
from windrow.model.fate import FATE_CODES, Fate, fate_of
from windrow.model.options import Option, Options
from windrow.model.place import SourceText
from windrow.model.query import NamedSource, Select, SelectItem
from windrow.model.statement import CreateFunction, CreateStream, Script, SelectStatement
from windrow.model.types import STRING, ColumnDef
from windrow.plan.stages import Expect, FilterProject, Item, Job, Output, PythonFunction, Read, Write
from windrow.spark.compile.constraints import fate_sql
from windrow.spark.compile.expressions import quote, struct_type, to_sql
from windrow.spark.compile.python_functions import register_functions
from windrow.spark.execution.violations import said_of, violated
from windrow.spark.row_columns import FATE
from windrow.spark.scan.dead_letter_scan import replayed_rows, returned_rows
from windrow.spark.scan.row_reader import spark_type
from windrow.spark.session import make_session
from windrow.sql import parse_assignments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# In a repair: the text of the row as it came, where the source has it, else its columns as JSON.
RAW_COLUMN = RAW
_PLACE, _MET = row_protocol.PLACE, "_met"
_NAME = "--repair"

Letter = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What would become of a letter: it passes, or fails again with a code."""

    code: str | None
    why: str


def repaired(job: Job, letters: Sequence[Letter], repair: str, session: SparkSession | None = None) -> tuple[Letter, ...]:
    """Letters whose rows have what the repair sets; of each, its columns alone return."""
    assignments = parse_assignments(repair, _NAME)
    done: dict[str, Letter] = {}
    spark = session or _session(job)
    for stream, columns, own in _by_stream(job, letters):
        items = _compiled(job, stream, columns, assignments, repair)
        frame = _rows_of(spark, columns, own)
        values = ", ".join(f"{to_sql(expr)} AS {quote(name)}" for name, expr in items.items())
        set_to = frame.selectExpr(_PLACE, f"to_json(struct({values}), map('ignoreNullFields', 'false')) AS _set").toArrow()
        for place, text in zip(set_to[_PLACE].to_pylist(), set_to["_set"].to_pylist(), strict=True):
            row = {**json.loads(own[place]["row"]), **json.loads(text)}
            done[own[place]["id"]] = {**own[place], "raw": None, "row": json.dumps(row, ensure_ascii=False)}
    return tuple(done[letter["id"]] for letter in letters)


def meeting(job: Job, letters: Sequence[Letter], condition: Expr, session: SparkSession | None = None) -> frozenset[str]:
    """The ids of those letters whose rows meet a condition. All of them are of one source or one statement's constraints."""
    found: set[str] = set()
    spark = session or _session(job)
    for stream, columns, own in _by_stream(job, letters):
        bound = _bound(job, stream, columns, {_MET: condition}, SourceText("", stream))[_MET]
        met = _rows_of(spark, columns, own).selectExpr(_PLACE, f"coalesce({to_sql(bound)}, false) AS {_MET}").toArrow()
        found.update(own[place]["id"] for place, is_met in zip(met[_PLACE].to_pylist(), met[_MET].to_pylist(), strict=True) if is_met)
    return frozenset(found)


def judge_letters(job: Job, letters: Sequence[Letter]) -> tuple[Outcome, ...]:
    """What the source, or the constraints of the statement that made a row, would say of each letter now."""
    found: dict[str, Outcome] = {}
    if letters:
        spark = _session(job)
        for stream, _, own in _by_stream(job, letters):
            stage = job.stage(stream)
            judge = _judged_by_source if isinstance(stage, Read) else _judged_by_constraints
            fates = judge(spark, stage, own)
            constraints = stage.constraints if isinstance(stage, Read | Expect) else ()
            found.update({letter["id"]: _outcome(fates[place], constraints) for place, letter in enumerate(own)})
    return tuple(found[letter["id"]] for letter in letters)


def _outcome(number: int, constraints: tuple[Constraint, ...]) -> Outcome:
    fate = fate_of(number)
    if fate is Fate.OK:
        return Outcome(None, "it is sound; a window may still find that it comes late")
    if fate is Fate.VIOLATION:
        constraint = violated(constraints, number)
        return Outcome(fate.code, f"{said_of(constraint)} ON VIOLATION {constraint.on_violation.value}")
    return Outcome(*FATE_CODES[fate])


def _judged_by_source(spark: SparkSession, stage: Any, letters: Sequence[Letter]) -> dict[int, int]:
    """Rows of formats other than JSON are judged by their columns."""
    is_text = dict(stage.options).get("format", "json") == "json"
    stream = SourceStream(spark.range(0), None, "json" if is_text else None)
    numbered = [{**letter, "offset": place} for place, letter in enumerate(letters)]
    rows = replayed_rows(spark, replace(stage, projected_columns=None), stream, numbered, time.time_ns() // 1000)
    return _by_place(rows, "_offset", FATE)


def _judged_by_constraints(spark: SparkSession, stage: Any, letters: Sequence[Letter]) -> dict[int, int]:
    numbered = [{**letter, "offset": place} for place, letter in enumerate(letters)]
    rows = returned_rows(spark, stage.columns, numbered)
    return _by_place(rows.selectExpr("_offset", f"{fate_sql(stage.constraints)} AS {FATE}"), "_offset", FATE)


def _by_place(rows: DataFrame, place: str, fate: str) -> dict[int, int]:
    found = rows.select(place, fate).toArrow()
    return dict(zip(found[place].to_pylist(), found[fate].to_pylist(), strict=True))


def _by_stream(job: Job, letters: Sequence[Letter]) -> list[tuple[str, tuple[ColumnDef, ...], list[Letter]]]:
    """Letters by the source or the statement that judges their rows; a statement without constraints judges none."""
    judging = {stage.name for stage in job.stages if isinstance(stage, Expect)}
    groups: dict[str, list[Letter]] = {}
    for letter in letters:
        by = letter["statement"] if letter["statement"] in judging else letter["source"]
        groups.setdefault(by, []).append(letter)
    found = []
    for name, own in groups.items():
        stage = job.stage(name)
        assert isinstance(stage, Read | Expect)
        found.append((name, stage.columns, own))
    return found


def _compiled(
    job: Job, stream: str, columns: tuple[ColumnDef, ...], assignments: tuple[tuple[str, Expr], ...], repair: str
) -> dict[str, Expr]:
    """The expressions as a query over such rows would have them, checked as one."""
    known = {column.name.lower(): column.name for column in columns}
    for name, _ in assignments:
        if name.lower() not in known:
            raise UsageError("WR907", f'{stream} has no column "{name}" that a repair could set', f"it has: {', '.join(known.values())}")
    return _bound(job, stream, columns, {known[name.lower()]: expr for name, expr in assignments}, SourceText(repair, _NAME))


def _bound(job: Job, stream: str, columns: tuple[ColumnDef, ...], exprs: Mapping[str, Expr], source: SourceText) -> dict[str, Expr]:
    create = CreateStream(stream, (*columns, ColumnDef(RAW_COLUMN, STRING)), Options((Option("connector", "memory"),)))
    functions = tuple(_as_created(each) for each in job.functions)
    folder = Path(job.functions[0].folder if job.functions else "")
    found: dict[str, Expr] = {}
    for name, expr in exprs.items():
        # Each by itself: as in UPDATE, all of them see the row as it was.
        select = Select((SelectItem(expr, name),), NamedSource(stream))
        stages = compile_script(Script((*functions, create, SelectStatement(select)), source), folder=folder).plan.jobs[0].stages
        match stages:
            case (Read(), FilterProject(output=Output(items=(Item(expr=bound),))), Write()) if bound is not None:
                found[name] = bound
            case _:
                hint = "SET price = ABS(price)"
                raise UsageError("WR907", "a repair sets columns from the row itself, without aggregates, OVER or subqueries", hint)
    return found


def _as_created(function: PythonFunction) -> CreateFunction:
    parameters = tuple(ColumnDef(f"p{number}", kind) for number, kind in enumerate(function.parameters))
    return CreateFunction(function.name, parameters, function.returns, function.target)


def _rows_of(spark: SparkSession, columns: tuple[ColumnDef, ...], letters: Sequence[Letter]) -> DataFrame:
    """The columns of letters with their text beside them."""
    texts = [letter["row"] if letter["raw"] is None else letter["raw"].decode("utf-8", "replace") for letter in letters]
    table = pa.table({_PLACE: range(len(letters)), "_text": [letter["row"] for letter in letters], RAW_COLUMN: texts})
    schema = struct_type({column.name: spark_type(column) for column in columns}).replace("'", "\\'")
    frame = spark.createDataFrame(table).selectExpr(_PLACE, RAW_COLUMN, f"from_json(_text, '{schema}') AS _held")
    return frame.selectExpr(_PLACE, RAW_COLUMN, "_held.*")


def _session(job: Job) -> SparkSession:
    session = in_zone(make_session("local[1]"), job.time_zone)
    register_functions(session, job.functions)
    return session
