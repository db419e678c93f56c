"""What EXPLAIN says about tables and joins."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windrow.model.expr import Binary, Call, Column, Expr, Node, transform
from windrow.model.window import DropLate
from windrow.plan.join_names import all_of
from windrow.plan.stages import Answer, Enrich, Explode, IntervalJoin, JoinWindow, LoadTable
from windrow.sql import render_expr, render_query
from windrow.sql.durations import show_duration

_MISSING = {
    "null": "NULLs",
    "skip": "the row is left out and counted",
    "default": "0, '' or false in place of its columns",
    "fail": "the job stops",
}


def as_written(expr: Expr) -> str:
    """Physical names read as the user wrote them: ``o.id`` is column id of o.

    >>> as_written(Column("o.id"))
    'o.id'
    """

    def change(node: Node) -> Node | None:
        if not isinstance(node, Column) or node.qualifier is not None or "." not in node.name:
            return None
        qualifier, _, name = node.name.partition(".")
        return Column(name, qualifier)

    return render_expr(transform(expr, change))


def table_facts(stage: LoadTable) -> Iterator[tuple[str, str]]:
    yield "connector", stage.read.connector
    yield "columns", ", ".join(f"{c.name} {c.type}{'' if c.nullable else ' NOT NULL'}" for c in stage.read.columns)
    yield "why", stage.reason


def enrich_facts(stage: Enrich) -> Iterator[tuple[str, str]]:
    yield "rows of", stage.stream.input
    for lookup in stage.lookups:
        condition = "always" if lookup.on is None else as_written(lookup.on)
        version = "" if lookup.as_of is None else f" as of {as_written(lookup.as_of)}"
        asked = "" if lookup.rows is None else f" = {render_query(lookup.rows.query)},"
        yield "looks up", f"{lookup.table.input}{asked}{version} where {condition}; nothing there: {_MISSING[lookup.on_missing]}"
    if stage.patience is not None:
        yield "patience", f"a row that finds nothing is kept for {show_duration(stage.patience)}, and looks again with every batch"
    yield "waits", f"{show_duration(stage.wait)} at most for its tables to be loaded"
    yield "why", stage.reason


def answer_facts(stage: Answer) -> Iterator[tuple[str, str]]:
    for consult in stage.consults:
        yield consult.slot, as_written(consult.asked)
    yield "waits", f"{show_duration(stage.wait)} at most for its tables to be loaded"
    yield "why", stage.reason


def explode_facts(stage: Explode) -> Iterator[tuple[str, str]]:
    yield "rows", _generated(stage)
    yield "why", stage.reason


def _generated(stage: Explode) -> str:
    return f"{as_written(Call(stage.generator, stage.args))} AS {', '.join(stage.columns)}"


def join_facts(stage: IntervalJoin) -> Iterator[tuple[str, str]]:
    yield "pairs", f"{stage.left.input} with {stage.right.input}"
    yield "on", as_written(_equalities(stage))
    left, right = (as_written(time) for time in stage.times)
    yield "time", f"{right} from {_moved(left, stage.low)} to {_moved(left, stage.high)}, both included"
    if stage.residual is not None:
        yield "and", as_written(stage.residual)
    kept = _sides(stage, unpaired=True)
    yield "unpaired", f"rows of {' and '.join(kept)} come out once, when no partner can come" if kept else "left out"
    yield "remembers", _memory(stage)
    yield "late rows", f"{'dropped and counted' if isinstance(stage.late, DropLate) else 'a dead letter'}, {_late_when(stage)}"
    yield "why", stage.reason


def _sides(stage: IntervalJoin, *, unpaired: bool) -> list[str]:
    """The inputs whose rows come out, or do not come out, when they meet nothing."""
    return [side.input for side, keeps in ((stage.left, stage.keeps_left), (stage.right, stage.keeps_right)) if keeps == unpaired]


def _memory(stage: IntervalJoin) -> str:
    if stage.inside is None:
        return f"a left row for {show_duration(max(stage.high, 0))}, a right row for {show_duration(max(-stage.low, 0))}"
    lateness = f" and {show_duration(stage.inside.lateness)} more" if stage.inside.lateness else ""
    return f"a row until its last window has ended{lateness}"


def _late_when(stage: IntervalJoin) -> str:
    if stage.inside is not None and stage.inside.judges_first:
        return "if every window of the row has closed for good"
    inputs = _sides(stage, unpaired=False)
    if not inputs:
        return "but no row is late: both sides come out unpaired"
    return f"if a row of {' or '.join(inputs)} is behind the watermark, meets nothing, and nothing can come any more"


def _equalities(stage: IntervalJoin) -> Expr:
    condition = all_of(Binary("=", left, right) for left, right in stage.keys)
    assert condition is not None, "a join of two streams has an equality"
    return condition


def _moved(time: str, micros: int) -> str:
    return time if not micros else f"{time} {'+' if micros > 0 else '-'} {show_duration(abs(micros))}"


def join_json(stage: LoadTable | Explode | Answer | Enrich | IntervalJoin) -> dict[str, Any]:
    match stage:
        case LoadTable(read=read, primary_key=key):
            columns = [{"name": c.name, "type": str(c.type), "nullable": c.nullable} for c in read.columns]
            return {"kind": "load_table", "connector": read.connector, "columns": columns, "primary_key": list(key)}
        case Explode():
            return {"kind": "explode", "generator": _generated(stage), "is_outer": stage.is_outer}
        case Answer(consults=consults, wait=wait):
            return {"kind": "answer", "columns": {each.slot: as_written(each.asked) for each in consults}, "wait_us": wait}
        case Enrich(stream=stream, lookups=lookups, wait=wait):
            tables = [
                {
                    "table": each.table.input,
                    "query": None if each.rows is None else render_query(each.rows.query),
                    "on": None if each.on is None else as_written(each.on),
                    "as_of": None if each.as_of is None else as_written(each.as_of),
                    "on_missing": each.on_missing,
                }
                for each in lookups
            ]
            return {"kind": "enrich", "stream": stream.input, "lookups": tables, "wait_us": wait}
        case IntervalJoin():
            return {
                "kind": "interval_join",
                "left": stage.left.input,
                "right": stage.right.input,
                "on": as_written(_equalities(stage)),
                "times": [as_written(time) for time in stage.times],
                "low_us": stage.low,
                "high_us": stage.high,
                "residual": None if stage.residual is None else as_written(stage.residual),
                "keeps_left": stage.keeps_left,
                "keeps_right": stage.keeps_right,
                "is_strict": stage.is_strict,
                "inside": None if stage.inside is None else _window_json(stage.inside),
                "late": "drop" if isinstance(stage.late, DropLate) else "dead_letter",
            }


def _window_json(inside: JoinWindow) -> dict[str, Any]:
    return {"size_us": inside.size, "advance_us": inside.advance, "offset_us": inside.offset, "allowed_lateness_us": inside.lateness}


def join_label(stage: LoadTable | Explode | Answer | Enrich | IntervalJoin) -> list[str]:
    """The lines of a stage's box."""
    match stage:
        case LoadTable(name=name, read=read):
            return [name, f"table from {read.connector}"]
        case Explode(name=name):
            return [name, _generated(stage)]
        case Answer(name=name, consults=consults):
            return [name, *(as_written(each.asked) for each in consults)]
        case Enrich(name=name, lookups=lookups):
            return [name, f"looks up {', '.join(lookup.table.input for lookup in lookups)}"]
        case IntervalJoin(name=name):
            return [
                name,
                f"on {as_written(_equalities(stage))}",
                f"{_moved('', stage.low).strip() or '0s'} to {_moved('', stage.high).strip() or '0s'}",
            ]
