"""A plan as plain values: every field of every stage. Expressions are SQL, lengths of time are microseconds.

EXPLAIN prints it, and ``job.json`` keeps it beside a job's state, where later versions read it: a name that stands here stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

from windrow.model.constraint import Constraint
from windrow.model.expr import Expr
from windrow.model.row_limits import StreamLimits
from windrow.model.types import ColumnDef
from windrow.model.window import DeadLetterLate, DropLate, IncludeInNext, LateStrategy, UpdatePrevious
from windrow.plan.explain_facts import shown_options, with_slots_filled
from windrow.plan.explain_joins import join_json, subquery_json
from windrow.plan.explain_metrics import alert_json, metric_json
from windrow.plan.explain_stream_joins import stream_join_json
from windrow.plan.physical import NO_WISHES, OperatorSpec, RunWishes, expected_facts, physical_plan
from windrow.plan.stages import (
    Aggregate,
    Expect,
    Explode,
    FilterProject,
    InsertUnion,
    IntervalJoin,
    Job,
    LateRows,
    LoadTable,
    LookupJoin,
    OverAggregate,
    Plan,
    PythonFunction,
    Read,
    Stage,
    SubqueryLookup,
    UnionAll,
    UpsertTable,
    WindowRows,
    Write,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.plan.time_rules import TimeRule
from windrow.plan.window_cut import WindowCut
from windrow.sql import render_expr
from windrow.sql.render import render_sort_key


def plan_to_json(plan: Plan, wishes: RunWishes = NO_WISHES) -> dict[str, Any]:
    return {
        "annotations": [{"key": key, "value": value} for key, value in plan.annotations],
        "metrics": [{"statement": name, **metric_json(metric)} for name, metric in plan.metrics],
        "alerts": [alert_json(alert) for alert in plan.alerts],
        "jobs": [_explained_job(job, wishes) for job in plan.jobs],
    }


def _explained_job(job: Job, wishes: RunWishes) -> dict[str, Any]:
    """The job with the strategy of every operator, for a run with such settings."""
    told = job_to_json(job)
    return {**told, "stages": [_with_strategies(operator) for operator in physical_plan(job, expected_facts(job, wishes))]}


def _with_strategies(operator: OperatorSpec) -> dict[str, Any]:
    return {**stage_to_json(operator.stage), "strategies": [choice.to_json() for choice in operator.distinct]}


def job_to_json(job: Job) -> dict[str, Any]:
    """What a job means, without how it is run: what its state folder keeps."""
    return {
        "name": job.name,
        "reason": job.reason,
        "needs_ticks": job.needs_ticks,
        "functions": [_function(function) for function in job.functions],
        "limits": [_limits(one) for one in job.limits],
        "stages": [stage_to_json(stage) for stage in job.stages],
    }


def _limits(one: StreamLimits) -> dict[str, Any]:
    return {"name": one.name, "min_rows": one.least, **{kind.value: text for kind, _, text in one.limits}}


def _function(function: PythonFunction) -> dict[str, Any]:
    """Without its folder, which is where the file of the statements is."""
    parameters = [str(parameter) for parameter in function.parameters]
    told = {"name": function.name, "parameters": parameters, "returns": str(function.returns), "target": function.target}
    return {**told, "code": function.code} if function.code else told


def stage_to_json(stage: Stage) -> dict[str, Any]:
    return {"name": stage.name, "inputs": list(stage.inputs), **_own(stage), "reason": stage.reason}


def _own(stage: Stage) -> dict[str, Any]:
    match stage:
        case Read():
            return {"kind": "read", **_read(stage)}
        case LoadTable(read=read, primary_key=key, refresh=refresh, change=change):
            return {"kind": "load_table", **_read(read), "primary_key": list(key), "refresh_us": refresh, "change": change}
        case FilterProject(where=where, output=output, beside=beside):
            shown = [{"name": item.name, "expr": "*" if item.expr is None else render_expr(item.expr)} for item in output.items]
            return {"kind": "filter_project", "where": _sql(where), "columns": shown, "beside": sorted(beside), **_closing(stage)}
        case Aggregate():
            return _aggregate(stage)
        case WindowRows(of=of, kind=kind, at_once=at_once):
            return {"kind": "window_rows", "of": of, "window": kind.facts(), "at_once": at_once}
        case OverAggregate(where=where, output=output, over_calls=over_calls, qualify=qualify):
            shown = [{"name": item.name, "expr": "*" if item.expr is None else render_expr(item.expr)} for item in output.items]
            kept = [
                {
                    "partition_by": [render_expr(key) for key in group.partition_by],
                    "rows": group.buffer,
                    "is_at_once": group.is_at_once,
                    "calls": {slot: render_expr(over) for slot, over in group.calls},
                }
                for group in over_calls
            ]
            return {
                "kind": "over_aggregate",
                "where": _sql(where),
                "over": kept,
                "qualify": _sql(qualify),
                "columns": shown,
                **_closing(stage),
                **_subqueries(stage),
            }
        case Explode() | SubqueryLookup() | LookupJoin():
            return join_json(stage)
        case IntervalJoin() | AsofJoin() | WindowJoin():
            return stream_join_json(stage)
        case LateRows(of=of):
            return {"kind": "late_rows", "of": of}
        case UnionAll(parts=parts, columns=columns):
            return {"kind": "union_all", "parts": list(parts), "columns": list(columns)}
        case InsertUnion(inlets=inlets, columns=columns, time=time, is_strict=is_strict):
            return {
                "kind": "insert_union",
                "columns": [_column(column) for column in columns],
                "inlets": [{"input": inlet.input, "columns": list(inlet.columns)} for inlet in inlets],
                "event_time": _time(time),
                "is_strict": is_strict,
            }
        case Expect(constraints=constraints, columns=columns, is_strict=is_strict):
            return {
                "kind": "expect",
                "columns": [_column(column) for column in columns],
                "constraints": _constraints(constraints),
                "is_strict": is_strict,
            }
        case UpsertTable(key=key, columns=columns, ttl=ttl):
            return {"kind": "upsert_table", "key": list(key), "columns": [_column(column) for column in columns], "state_ttl_us": ttl}
        case Write(input=name, connector=connector, columns=columns, key=key, outage=outage):
            told = {"outage": away} if (away := outage.to_json()) else {}
            return {
                "kind": "write",
                "statement": name,
                "connector": connector,
                "options": shown_options(stage),
                "columns": [_column(column) for column in columns],
                "key": list(key),
                **told,
            }
        case _:
            assert_never(stage)


def _constraints(constraints: tuple[Constraint, ...]) -> list[dict[str, Any]]:
    return [{"name": each.name, "expect": render_expr(each.condition), "on_violation": each.on_violation.policy} for each in constraints]


def _column(column: ColumnDef) -> dict[str, Any]:
    return {"name": column.name, "type": str(column.type), "nullable": column.nullable}


def _time(time: TimeRule) -> dict[str, Any]:
    return {"column": time.column, "format": time.format, "on_missing": time.on_missing, "max_future_us": time.max_future}


def _read(stage: Read) -> dict[str, Any]:
    clock = stage.clock
    return {
        "connector": stage.connector,
        "columns": [_column(column) for column in stage.columns],
        "options": shown_options(stage),
        "projected_columns": None if stage.projected_columns is None else list(stage.projected_columns),
        "event_time": _time(stage.time),
        "watermark": {
            "delay_us": clock.delay,
            "idle_timeout_us": clock.idle_timeout,
            "late_rows": clock.late_rows,
            "granularity": clock.granularity,
        },
        "bad_rows": stage.bad_rows,
        "bad_fields": stage.bad_fields,
        "time_zone": stage.time_zone,
        "constraints": _constraints(stage.constraints),
    }


def _aggregate(stage: Aggregate) -> dict[str, Any]:
    emit_policy = stage.emit_policy
    return {
        "kind": "aggregate",
        "where": _sql(stage.where),
        "keys": [{"slot": slot, "expr": render_expr(key)} for slot, key in stage.keys],
        "aggregates": [{"slot": item.slot, "call": render_expr(item.call)} for item in stage.aggregates],
        "window": None if stage.window is None else stage.window.facts(),
        "time": _sql(stage.time.event_time),
        "since": _sql(stage.since),
        "starts_at": stage.starts_at,
        "on_arrival": stage.time.on_arrival,
        "watermark_delay_us": stage.time.delay,
        "punctuation": _sql(stage.time.punctuation),
        "allowed_lateness_us": stage.lateness,
        "late_rows": _late(stage.late),
        "granularity": "row" if stage.is_exact else "batch",
        "partials": stage.partial_shape.name.lower(),
        "emits": {
            "every_row": emit_policy.every_row,
            "per_batch": emit_policy.per_batch,
            "on_close": emit_policy.on_close,
            "every_records": emit_policy.every_records,
            "interval_us": emit_policy.interval,
            "when": [render_expr(each) for each in stage.when],
            "once": emit_policy.once,
        },
        "having": _filled(stage, stage.having),
        "columns": [{"name": item.name, "expr": "*" if item.expr is None else _filled(stage, item.expr)} for item in stage.output.items],
        "state_ttl_us": stage.ttl,
        "keeps_headers": stage.keeps_headers,
        "keeps_time": stage.keeps_time,
        **_closing(stage),
        **_subqueries(stage),
        **({} if stage.cut is None else {"cut": _cut(stage.cut)}),
    }


def _cut(cut: WindowCut) -> dict[str, Any]:
    added = [_column(column) for column in cut.added]
    return {"at_us": cut.at, "is_before": cut.is_before, "statement": cut.statement, "earlier": cut.earlier, "added": added}


def _subqueries(stage: Aggregate | OverAggregate) -> dict[str, Any]:
    return {"subqueries": [subquery_json(each) for each in stage.subqueries], "wait_us": stage.wait}


def _closing(stage: FilterProject | Aggregate | OverAggregate) -> dict[str, Any]:
    key = None if stage.output.key is None else _of(stage, stage.output.key)
    order_by = stage.output.order_by
    if isinstance(stage, Aggregate):
        order_by = tuple(replace(each, expr=with_slots_filled(stage, each.expr)) for each in order_by)
    changes = [(_of(stage, each.key), None if each.value is None else _of(stage, each.value)) for each in stage.output.headers]
    return {
        "key": key,
        "order_by": [render_sort_key(each) for each in order_by],
        "limit": stage.output.limit,
        "headers": [{"key": header, "value": value} for header, value in changes],
        "is_strict": stage.is_strict,
    }


def _of(stage: FilterProject | Aggregate | OverAggregate, expr: Expr) -> str | None:
    return _filled(stage, expr) if isinstance(stage, Aggregate) else _sql(expr)


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
