"""What of a plan its state depends on: every field of every stage stands in the plan's JSON, and few of them do not count."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import pytest

from windrow.compiler import compile_sql
from windrow.errors import SqlError
from windrow.model.constraint import Constraint
from windrow.model.expr import Column, Expr, Literal, Node, SortKey
from windrow.model.types import STRING, ColumnDef
from windrow.plan.explain_json import job_to_json, stage_to_json
from windrow.plan.fingerprint import differences, fingerprint
from windrow.plan.stages import HeaderChange, Job, Stage, TableSubquery
from windrow.plan.window_cut import WindowCut

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) WITH ('connector' = 'memory', 'event.time.field' = 'ts'{});\n"
# Told by another field: whether there are conditions, by the conditions; the name of a table's own read.
FOLLOWS = {("EmitPolicy", "when"), ("Read", "name"), ("Read", "reason")}
# What the policy for an outage takes, which alone says whether there is any.
FOLLOWS |= {("OutageRule", name) for name in ("write_timeout", "max_bytes", "max_age", "halt_after", "other")}


def job_of(sql: str, more: str = "") -> Job:
    return compile_sql(SOURCE.format(more) + sql, "t.sql", {}).plan.jobs[0]


def all_stages() -> Iterator[Stage]:
    """Of every statement that the conformance cases and golden plans hold."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "conformance" / "plans").glob("*.sql"))]
    for path in sorted((ROOT / "conformance" / "cases").glob("*.jsonl")):
        cases = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("{"))
        texts += (case["sql"] for case in cases if isinstance(case.get("sql"), str) and "CREATE STREAM" in case["sql"])
    for text in texts:
        try:
            plan = compile_sql(text, "t.sql", {}).plan
        except SqlError:
            continue
        for job in plan.jobs:
            yield from job.stages


def other_values(value: Any) -> Iterator[Any]:
    """Values that a field may have in the place of its own."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield f"{value}x"
        case Enum():
            yield from (each for each in type(value) if each is not value)
        case Node() if isinstance(value, get_args(Expr)):
            yield Column("something_else")
        case tuple() if value:
            yield value[:-1]
            for below in other_values(value[0]):
                yield (below, *value[1:])
        case frozenset():
            yield value | {"one_more"}
        case _ if is_dataclass(value) and not isinstance(value, type):
            for spec in (each for each in fields(value) if each.compare and (type(value).__name__, each.name) not in FOLLOWS):
                for below in other_values(getattr(value, spec.name)):
                    yield replace(value, **{spec.name: below})


EMPTY: dict[str, Any] = {
    "cut": WindowCut(0, False, "s"),
    "where": Column("c"),
    "having": Column("c"),
    "key": Column("c"),
    "time": Column("c"),
    "since": Column("c"),
    "punctuation": Column("c"),
    "residual": Column("c"),
    "qualify": Column("c"),
    "limit": 3,
    "ttl": 5,
    "delay": 5,
    "refresh": 5,
    "change": "_op",
    "retry_for": 5,
    "projected_columns": ("k",),
    "headers": (HeaderChange(Column("c"), Literal(1)),),
    "when": (Column("c"),),
    "rewrites": ("x",),
    "order_by": (SortKey(Column("c")),),
    "subqueries": (TableSubquery("s", Column("c"), ("t",)),),  # type: ignore[arg-type]  # as SQL it is all the same
    "columns": (ColumnDef("c", STRING),),
    "constraints": (Constraint("c", Column("c")),),
}


def test_every_field_of_every_stage_stands_in_its_json() -> None:
    """A field that JSON leaves out would let another query read a state as its own, and a later version not see what was meant."""
    seen: set[tuple[str, str]] = set()
    asked: set[tuple[str, str]] = set()
    missing: dict[tuple[str, str], tuple[Any, Any]] = {}
    for stage in {repr(stage): stage for stage in all_stages()}.values():
        shown, kind = stage_to_json(stage), type(stage).__name__
        for spec in fields(stage):
            asked.add((kind, spec.name))
            value = getattr(stage, spec.name)
            others = list(other_values(value))
            if value in (None, (), frozenset()) and spec.name in EMPTY:
                others = [EMPTY[spec.name]]
            if kind == "Write" and spec.name == "key":
                others = [("k",)]
            if spec.name == "connector":
                others = [each for each in ("memory", "files") if each != value]
            for other in others:
                changed = replace(stage, **{spec.name: other})
                try:
                    told = stage_to_json(changed)
                except (LookupError, TypeError, ValueError, AttributeError, AssertionError):
                    continue
                seen.add((kind, spec.name))
                if told == shown:
                    missing[kind, spec.name] = (value, other)
    assert missing == {}
    # What cannot be changed by itself, for no other value makes sense: none may be here that JSON leaves out.
    strategies = {(kind, "late") for kind in ("Aggregate", "IntervalJoin", "AsofJoin", "WindowJoin")}
    assert asked - seen <= {("Aggregate", "window"), ("IntervalJoin", "inside"), *strategies}
    assert {kind for kind, _ in asked} >= {"Read", "LoadTable", "Aggregate", "OverAggregate", "LookupJoin", "IntervalJoin", "UpsertTable"}


CHANGES = {
    "SELECT k, SUM(v) AS s FROM t WHERE v > 1 GROUP BY k WINDOW TUMBLING(1m);": "where is v > 1, and was not there",
    "SELECT k, SUM(v) AS s FROM t GROUP BY k WINDOW TUMBLING(2m);": "window.size_us is 120000000, and was 60000000",
    "SELECT k, MAX(v) AS s FROM t GROUP BY k WINDOW TUMBLING(1m);": r"aggregates\[1\].call is MAX\(v\), and was SUM\(v\)",
    "SELECT k, SUM(v) AS s FROM t GROUP BY k WINDOW TUMBLING(1m) ALLOWED_LATENESS 1s;": "allowed_lateness_us is 1000000, and was 0",
    "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(1m);": r"aggregates is SUM\(v\), COUNT\(\*\), and was SUM\(v\)",
    "CREATE STREAM other AS SELECT k FROM t WITH ('connector' = 'console');": "statement out is gone",
}
BEFORE = "SELECT k, SUM(v) AS s FROM t GROUP BY k WINDOW TUMBLING(1m);"


@pytest.mark.parametrize(("sql", "told"), CHANGES.items(), ids=range(len(CHANGES)))
def test_a_change_is_named(sql: str, told: str) -> None:
    saved, now = job_to_json(job_of(BEFORE)), job_to_json(job_of(sql))
    found = differences(saved, now)
    assert any(re.search(told, each) for each in found), found
    assert fingerprint(saved) != fingerprint(now)


def test_what_does_not_count() -> None:
    saved = json.loads(json.dumps(job_to_json(job_of(BEFORE))))
    now = job_to_json(job_of(BEFORE, ", 'watermark.delay' = '0s'"))
    for stage in saved["stages"]:
        stage["reason"] = "in other words"
        stage["invented_later"] = None
    saved["stages"][0]["projected_columns"] = ["k"]
    assert differences(saved, now) == []
    assert fingerprint(saved) == fingerprint(now)


def test_statements_that_stand_in_another_order_are_another_job() -> None:
    """Spark knows the sources of a job by their place."""
    saved = job_to_json(job_of(BEFORE))
    turned = {**saved, "stages": saved["stages"][::-1]}
    assert differences(saved, turned) == ["the statements stand in another order"]
    assert fingerprint(saved) != fingerprint(turned)
