"""A plan as plain values: every field of every stage. Expressions are SQL, lengths of time are microseconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from windrow.model.expr import Expr
from windrow.model.types import ColumnDef
from windrow.model.window import DeadLetterLate, DropLate, IncludeInNext, LateStrategy, Rows, Session, Sliding, Tumbling, UpdatePrevious
from windrow.plan.explain_facts import shown_options, with_slots_filled
from windrow.plan.explain_joins import join_json
from windrow.plan.explain_metrics import metric_json
from windrow.plan.stages import (
    Aggregate,
    Answer,
    Collect,
    Derive,
    Enrich,
    Explode,
    IntervalJoin,
    Job,
    KeepLatest,
    LateRows,
    LoadTable,
    LookBack,
    Merge,
    Plan,
    Read,
    Stage,
    Write,
)
from windrow.sql import render_expr
from windrow.sql.render import render_sort_key


def plan_to_json(plan: Plan) -> dict[str, Any]:
    return {
        "annotations": [{"key": key, "value": value} for key, value in plan.annotations],
        "metrics": [{"statement": name, **metric_json(metric)} for name, metric in plan.metrics],
        "jobs": [_job(job) for job in plan.jobs],
    }


def _job(job: Job) -> dict[str, Any]:
    return {"name": job.name, "reason": job.reason, "needs_ticks": job.needs_ticks, "stages": [_stage(stage) for stage in job.stages]}


def _stage(stage: Stage) -> dict[str, Any]:
    return {"name": stage.name, "inputs": list(stage.inputs), **_own(stage), "reason": stage.reason}


def _own(stage: Stage) -> dict[str, Any]:
    match stage:
        case Read():
            return _read(stage)
        case Derive(where=where, items=items):
            shown = [{"name": item.name, "expr": "*" if item.expr is None else render_expr(item.expr)} for item in items]
            return {"kind": "derive", "where": _sql(where), "columns": shown, **_closing(stage)}
        case Aggregate():
            return _aggregate(stage)
        case LookBack(where=where, items=items, looks=looks, qualify=qualify):
            shown = [{"name": item.name, "expr": "*" if item.expr is None else render_expr(item.expr)} for item in items]
            kept = [
                {
                    "partition_by": [render_expr(key) for key in look.partition_by],
                    "rows": look.buffer,
                    "calls": {slot: render_expr(over) for slot, over in look.calls},
                }
                for look in looks
            ]
            return {
                "kind": "look_back",
                "where": _sql(where),
                "looks": kept,
                "qualify": _sql(qualify),
                "columns": shown,
                **_closing(stage),
            }
        case LoadTable() | Explode() | Answer() | Enrich() | IntervalJoin():
            return join_json(stage)
        case LateRows(of=of):
            return {"kind": "late_rows", "of": of}
        case Merge(parts=parts, columns=columns):
            return {"kind": "merge", "parts": list(parts), "columns": list(columns)}
        case Collect(inlets=inlets, columns=columns, time=time):
            return {
                "kind": "collect",
                "columns": [_column(column) for column in columns],
                "inlets": [{"input": inlet.input, "columns": list(inlet.columns)} for inlet in inlets],
                "event_time": {"column": time.column, "format": time.format},
            }
        case KeepLatest(key=key, columns=columns, ttl=ttl):
            return {"kind": "keep_latest", "key": list(key), "columns": [_column(column) for column in columns], "state_ttl_us": ttl}
        case Write(input=name, connector=connector):
            return {"kind": "write", "statement": name, "connector": connector, "options": shown_options(stage)}
        case _:
            assert_never(stage)


def _column(column: ColumnDef) -> dict[str, Any]:
    return {"name": column.name, "type": str(column.type), "nullable": column.nullable}


def _read(stage: Read) -> dict[str, Any]:
    time, clock = stage.time, stage.clock
    return {
        "kind": "read",
        "connector": stage.connector,
        "columns": [_column(column) for column in stage.columns],
        "options": shown_options(stage),
        "event_time": {"column": time.column, "format": time.format, "on_missing": time.on_missing, "max_future_us": time.max_future},
        "watermark": {"delay_us": clock.delay, "idle_timeout_us": clock.idle_timeout, "late_rows": clock.late_rows},
        "bad_rows": stage.bad_rows,
        "bad_fields": stage.bad_fields,
        "time_zone": stage.time_zone,
    }


def _aggregate(stage: Aggregate) -> dict[str, Any]:
    speech = stage.speech
    return {
        "kind": "aggregate",
        "where": _sql(stage.where),
        "keys": [render_expr(key) for _, key in stage.keys],
        "aggregates": [render_expr(item.call) for item in stage.aggregates],
        "window": None if stage.window is None else _window(stage.window),
        "time": _sql(stage.time),
        "on_arrival": stage.on_arrival,
        "watermark_delay_us": stage.delay,
        "punctuation": _sql(stage.punctuation),
        "allowed_lateness_us": stage.lateness,
        "late_rows": _late(stage.late),
        "granularity": "row" if stage.is_exact else "batch",
        "feed": stage.feed.name.lower(),
        "emits": {
            "every_row": speech.every_row,
            "per_batch": speech.per_batch,
            "on_close": speech.on_close,
            "every_records": speech.every_records,
            "interval_us": speech.interval,
            "when": [render_expr(each) for each in stage.when],
            "once": speech.once,
        },
        "having": _filled(stage, stage.having),
        "columns": [{"name": item.name, "expr": "*" if item.expr is None else _filled(stage, item.expr)} for item in stage.items],
        "state_ttl_us": stage.ttl,
        **_closing(stage),
    }


def _closing(stage: Derive | Aggregate | LookBack) -> dict[str, Any]:
    key = _filled(stage, stage.key) if isinstance(stage, Aggregate) else _sql(stage.key)
    order_by = stage.order_by
    if isinstance(stage, Aggregate):
        order_by = tuple(replace(each, expr=with_slots_filled(stage, each.expr)) for each in order_by)
    return {"key": key, "order_by": [render_sort_key(each) for each in order_by], "limit": stage.limit, "is_strict": stage.is_strict}


def _window(window: Tumbling | Sliding | Session | Rows) -> dict[str, Any]:
    match window:
        case Tumbling(size=size, offset=offset):
            return {"kind": "tumbling", "size_us": size, "offset_us": offset}
        case Sliding(size=size, advance=advance, offset=offset):
            return {"kind": "sliding", "size_us": size, "advance_us": advance, "offset_us": offset}
        case Session(gap=gap, max_length=limit):
            return {"kind": "session", "gap_us": gap, "max_length_us": limit}
        case Rows(count=count):
            return {"kind": "rows", "count": count}
        case _:
            assert_never(window)


def _late(late: LateStrategy) -> dict[str, Any]:
    match late:
        case DeadLetterLate(into=into):
            return {"strategy": "dead_letter", "into": into}
        case DropLate():
            return {"strategy": "drop"}
        case IncludeInNext():
            return {"strategy": "include_in_next"}
        case UpdatePrevious():
            return {"strategy": "update_previous"}
        case _:
            assert_never(late)


def _sql(expr: Expr | None) -> str | None:
    return None if expr is None else render_expr(expr)


def _filled(stage: Aggregate, expr: Expr | None) -> str | None:
    return None if expr is None else render_expr(with_slots_filled(stage, expr))
