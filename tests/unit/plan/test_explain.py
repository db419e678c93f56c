"""Golden plans: ``tests/conformance/plans/*.sql`` beside what EXPLAIN prints for them.

After a change that is meant, rewrite them and read the diff::

    .venv/bin/python tests/unit/plan/test_explain.py
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from windrow.catalog import build_catalog
from windrow.compiler import compile_sql
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.model.policies import StateBackendSetting
from windrow.plan import Plan, plan_script
from windrow.plan.explain import Format, explain
from windrow.plan.physical import NO_WISHES, RunWishes, StateFacts
from windrow.plan.physical.strategies import Strategy
from windrow.sql import parse

PLANS = Path(__file__).resolve().parents[2] / "conformance" / "plans"
FILES = sorted(PLANS.glob("*.sql"))
ENDINGS: dict[Format, str] = {"text": ".plan.txt", "json": ".plan.json", "mermaid": ".plan.mmd"}
SOURCE = "CREATE STREAM t (k STRING, v INT, ts TIMESTAMP, at TIMESTAMP) WITH ('connector' = 'memory', 'event.time.field' = 'ts');\n"


def plan_of(file: Path) -> Plan:
    return compile_sql(file.read_text(encoding="utf-8"), file.name, {}).plan


def planned(sql: str) -> Plan:
    """The plan without the checks, which stop what the engine does not run yet."""
    script = parse(sql)
    return plan_script(script, build_catalog(script))


def text_of(sql: str) -> str:
    return explain(planned(SOURCE + sql))


@pytest.mark.parametrize("form", ENDINGS)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_plan_reads_as_its_golden(file: Path, form: Format) -> None:
    golden = file.with_suffix(ENDINGS[form])
    assert explain(plan_of(file), form) + "\n" == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_stage_is_shown_once_in_every_shape(file: Path) -> None:
    plan = plan_of(file)
    stages = [stage for job in plan for stage in job.stages]
    tree = [line for line in explain(plan).splitlines() if line.lstrip("│ ").startswith(("├─", "└─"))]
    boxes = [line for line in explain(plan, "mermaid").splitlines() if '"' in line and "subgraph" not in line]
    named = [stage["name"] for job in json.loads(explain(plan, "json"))["jobs"] for stage in job["stages"]]
    assert len(tree) == len(boxes) == len(stages)
    assert named == [stage.name for stage in stages]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT COUNT(*) FROM t WINDOW SLIDING(1m, 10s)", "sliding: 1m long, a new one every 10s"),
        ("SELECT COUNT(*) FROM t WINDOW SESSION(5m, MAX 1h)", "session: rows of a group at most 5m apart, 1h long at most"),
        ("SELECT COUNT(*) FROM t WINDOW ROWS(3)", "once, when the window is full (final)"),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) ON PROCESSING_TIME()", "the arrival clock"),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) WITH WATERMARK PUNCTUATED(v = 1)", "moved only by rows with v = 1"),
        (
            "SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) TRIGGER EVERY 30s OR EVERY 10 RECORDS",
            "every 10 rows (early); every 30s of the arrival",
        ),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) TRIGGER WHEN v > 9", "when a row has v > 9 (early)"),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) LATE_DATA_STRATEGY DROP", "dropped and counted, if no window takes it"),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) LATE_DATA_STRATEGY UPDATE_PREVIOUS", "up to 1m after the end of its window"),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) ON EVENT_TIME(ts)", "that of t: column ts"),
        ("SELECT COUNT(*) FROM t WINDOW TUMBLING(1m) ON EVENT_TIME(at)", "at, named by the window"),
        (
            "SELECT COUNT(*) FROM (SELECT v, at AS _event_time FROM t) d WINDOW TUMBLING(1m)",
            "gives its rows, with a watermark of its own",
        ),
        ("SELECT DISTINCT k FROM t", "each group once, when its first row comes (change)"),
        ("SELECT k, COUNT(*) AS n FROM t GROUP BY k EMIT FINAL", "once, when a bounded input ends (final)"),
        ("SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 3", "COUNT(*) DESC"),
        ("SELECT k FROM t UNION ALL SELECT k FROM t", "out/1, out/2"),
    ],
)
def test_what_is_planned_is_said(sql: str, said: str) -> None:
    assert said in text_of(sql)


def test_a_stage_with_two_inputs_is_drawn_once() -> None:
    assert text_of("SELECT k FROM t UNION ALL SELECT k FROM t").count("union all out") == 1


def test_secrets_are_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = CONNECTORS["memory"]
    secret = OptionSpec("password", OptionKind.TEXT, "", is_secret=True, example="x")
    monkeypatch.setitem(CONNECTORS.own(), "memory", replace(spec, source=(*(spec.source or ()), secret)))
    plan = planned("CREATE STREAM t (a INT) WITH ('connector' = 'memory', 'password' = 'hunter2'); SELECT a FROM t")
    for form in ENDINGS:
        assert "hunter2" not in explain(plan, form)
    assert "password = ***" in explain(plan)


def test_a_file_without_a_query_says_so() -> None:
    assert explain(planned(SOURCE)) == "no job: the file only defines sources"


def _named(plan: Plan, wishes: RunWishes = NO_WISHES) -> set[tuple[str, str]]:
    """Every way that EXPLAIN names."""
    stages = [stage for job in json.loads(explain(plan, "json", wishes))["jobs"] for stage in job["stages"]]
    told = [each for stage in stages for each in stage["strategies"]]
    return {(each["choice"], each[way]) for each in told for way in ("strategy", "otherwise") if way in each}


def test_the_examples_and_these_plans_name_every_strategy() -> None:
    """State is on the executors by a setting, or once it has grown; all else a plan shows."""
    examples = sorted((PLANS.parents[2] / "examples").glob("*/query.sql"))
    plans = [plan_of(file) for file in (*examples, *FILES)]
    named = set().union(*map(_named, plans)) | _named(plans[0], RunWishes(StateFacts(StateBackendSetting.DISTRIBUTED)))
    assert {(way.choice, way.key) for kind in Strategy.__subclasses__() for way in kind} - named == set()
    assert len(examples) >= 10


def write_goldens() -> None:
    for file in FILES:
        for form, ending in ENDINGS.items():
            file.with_suffix(ending).write_text(explain(plan_of(file), form) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_goldens()
