"""Strategies: which one is chosen for what, and that the facts of a run change them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from windrow.catalog import build_catalog
from windrow.model.policies import StateBackendSetting
from windrow.plan import plan_script
from windrow.plan.physical import PhysicalPlan, RunFacts, RunWishes, SourceFacts, StateFacts, expected_facts, physical_plan
from windrow.plan.physical.scans import ARROW_TYPES
from windrow.plan.physical.strategies import (
    Accounting,
    Cache,
    Finish,
    Merge,
    Over,
    Pass,
    Projection,
    Scan,
    Sides,
    Sink,
    State,
    Strategy,
    Totals,
)
from windrow.plan.stages import Job
from windrow.spark.scan import arrow_json
from windrow.sql import parse

FILES = (
    "CREATE STREAM t (k STRING, v INT, d DECIMAL(10, 2), ts TIMESTAMP) "
    "WITH ('connector' = 'files', 'path' = 'in', 'event.time.field' = 'ts');\n"
)
KAFKA = FILES.replace("'files', 'path' = 'in'", "'kafka', 'topic' = 't', 'bootstrap.servers' = 'localhost:9092'")
NUMBERS = FILES.replace("d DECIMAL(10, 2), ", "")  # and every column is asked for
WRITE_KAFKA = " WITH ('connector' = 'kafka', 'topic' = 'o', 'bootstrap.servers' = 'localhost:9092')"
GROUPED = "SELECT k, SUM(v) AS s FROM t GROUP BY k WINDOW TUMBLING(1m)"
TWO = f"CREATE STREAM a AS {GROUPED}; CREATE STREAM b AS SELECT k, MAX(v) AS m FROM t GROUP BY k WINDOW TUMBLING(2m)"
JOIN = (
    "CREATE STREAM u (k STRING, at TIMESTAMP) WITH ('connector' = 'files', 'path' = 'u', 'event.time.field' = 'at'); "
    "SELECT t.v FROM t JOIN u ON t.k = u.k AND u.at BETWEEN t.ts AND t.ts + INTERVAL '1' MINUTE"
)


def job_of(sql: str) -> Job:
    script = parse(sql)
    (job,) = plan_script(script, build_catalog(script)).jobs
    return job


def planned(sql: str, facts: RunFacts | None = None) -> PhysicalPlan:
    return physical_plan(job_of(sql), facts)


@pytest.mark.parametrize(
    ("sql", "operator", "strategy"),
    [
        (NUMBERS + "SELECT k, v, COUNT(*) AS n FROM t GROUP BY k, v WINDOW TUMBLING(1m)", "t", Scan.JSON_FILES),
        (NUMBERS + GROUPED + " WITH WATERMARK PUNCTUATED(v = 1)", "t", Scan.ARROW_JSON),
        (FILES + "SELECT * FROM t", "t", Scan.SPARK_JSON),
        (FILES.replace("'in'", "'in/*.parquet'") + GROUPED, "t", Scan.COLUMNS),
        (FILES.replace("'in'", "'s3a://bucket/in'") + "SELECT k, v, d FROM t", "t", Scan.SPARK_JSON),
        (FILES + GROUPED, "t", Accounting.IN_AGGREGATION),
        (FILES + GROUPED, "t", Cache.NONE),
        (FILES + GROUPED, "out", Pass.SOURCE),
        (FILES + GROUPED, "out", Merge.STATE),
        (FILES + GROUPED, "out", State.DRIVER),
        (FILES + GROUPED, "out", Finish.RENAME),
        (FILES + GROUPED.replace("SUM(v)", "SUM(v) + 1"), "out", Finish.SPARK_SELECT),
        (FILES + GROUPED + " EMIT CHANGES", "out", Totals.DRIVER),
        (FILES + GROUPED.replace("SUM(v)", "MAX(k)") + " EMIT CHANGES", "out", Totals.SPARK_WINDOW),
        (FILES + GROUPED.replace("SUM(v)", "SUM(d)") + " EMIT CHANGES", "out", Totals.SPARK_WINDOW),
        (FILES + GROUPED + " WITH WATERMARK PUNCTUATED(v = 1)", "t", Accounting.OWN_JOB),
        (FILES + TWO, "t", Accounting.IN_AGGREGATION),
        (FILES + TWO, "b", Pass.SHARED),
        (FILES + TWO.replace("MAX(v) AS m FROM t", "MAX(v) AS m FROM t WHERE v > 1"), "b", Pass.OWN),
        (FILES + TWO.replace("MAX(v) AS m FROM t", "MAX(v) AS m FROM t WHERE v > 1"), "t", Cache.BATCH),
        (FILES + "SELECT k FROM t WHERE v > 1", "t", Accounting.OWN_JOB),
        (FILES + "SELECT k FROM t WHERE v > 1", "t", Cache.BATCH),
        (FILES + "SELECT k FROM t WHERE v > 1", "out", Accounting.WITH_SOURCE),
        (FILES + "CREATE STREAM o" + WRITE_KAFKA + " AS SELECT k FROM t", "t", Accounting.WHILE_SINK_READS),
        (FILES + "CREATE STREAM o" + WRITE_KAFKA + " AS SELECT k FROM t", "o -> kafka", Sink.COUNTED_FRAME),
        (FILES + "CREATE STREAM a AS " + GROUPED + "; SELECT k AS key FROM a", "out", Projection.RENAME),
        (FILES + "CREATE STREAM a AS " + GROUPED + "; SELECT upper(k) AS key FROM a", "out", Projection.SPARK_SELECT),
        (FILES + "CREATE STREAM a AS " + GROUPED + "; SELECT upper(k) AS key FROM a", "out", Accounting.FROM_TABLE),
        (FILES + JOIN, "t", Accounting.IN_DRIVER),
        (FILES + JOIN, "out/join", Sides.COLLECTED_AT_ONCE),
        (FILES + "SELECT k, LAG(v) OVER (PARTITION BY k) AS before FROM t", "out", Over.ARRIVAL_ORDER),
        (FILES + "SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS total FROM t", "out", Over.ARRIVAL_ORDER),
        (FILES + "SELECT k, RANK() OVER (PARTITION BY k ORDER BY v) AS place FROM t", "out", Over.PAIRS),
    ],
)
def test_a_strategy_is_chosen(sql: str, operator: str, strategy: Strategy) -> None:
    assert planned(sql).of(operator).chosen(type(strategy)) is strategy


def test_every_operator_has_a_strategy_and_every_choice_a_reason() -> None:
    for spec in planned(FILES + TWO):
        assert spec.choices
        assert all(choice.reason for choice in spec.choices)
        assert all(f"{choice.strategy.choice}: " in str(choice) and ", because " in str(choice) for choice in spec.choices)


def test_every_way_of_a_choice_has_words_of_its_own() -> None:
    for kind in Strategy.__subclasses__():
        assert len({way.value for way in kind}) == len(kind.__members__), f"{kind.__name__} has two ways that EXPLAIN tells alike"
        assert all(way.choice for way in kind)


def with_facts(sql: str, **found: object) -> PhysicalPlan:
    job = job_of(sql)
    return physical_plan(job, replace(expected_facts(job, RunWishes()), **found))  # type: ignore[arg-type]  # by name, checked by the dataclass


def test_state_on_the_executors_ends_a_shared_pass() -> None:
    plan = with_facts(FILES + TWO, on_executors=frozenset({"b"}))
    assert plan.of("a").chosen(Pass) is Pass.SOURCE
    assert plan.of("b").chosen(Pass) is Pass.OWN
    assert plan.of("b").chosen(State) is State.EXECUTORS
    assert plan.of("t").chosen(Cache) is Cache.BATCH
    assert with_facts(NUMBERS + TWO).of("t").chosen(Scan) is Scan.JSON_FILES
    assert with_facts(NUMBERS + TWO, on_executors=frozenset({"b"})).of("t").chosen(Scan) is not Scan.JSON_FILES


def test_settings_of_the_state_decide_where_it_is() -> None:
    assert with_facts(FILES + GROUPED, state=StateFacts(StateBackendSetting("distributed"))).of("out").chosen(State) is State.EXECUTORS
    assert (
        with_facts(FILES + GROUPED, state=StateFacts(StateBackendSetting("distributed"), can_move=False)).of("out").chosen(State)
        is State.DRIVER
    )
    assert "4,096 bytes" in str(with_facts(FILES + GROUPED, state=StateFacts(resident_max_bytes=4096)).of("out").choice(State))


@pytest.mark.parametrize(
    ("partitions", "accounting"), [(8, Accounting.IN_AGGREGATION), (9, Accounting.OWN_JOB), (None, Accounting.OWN_JOB)]
)
def test_many_partitions_are_counted_in_a_job_of_their_own(partitions: int | None, accounting: Accounting) -> None:
    plan = with_facts(KAFKA + GROUPED, sources={"t": SourceFacts("json", partitions)})
    assert plan.of("t").chosen(Accounting) is accounting


def test_values_that_turn_out_to_be_no_numbers_are_left_to_spark() -> None:
    sql = FILES + GROUPED.replace("SUM(v)", "MAX(v)") + " EMIT CHANGES"
    assert with_facts(sql, not_numeric=frozenset({"out"})).of("out").chosen(Totals) is Totals.SPARK_WINDOW


def test_workers_without_arrow_get_sparks_parser() -> None:
    plan = with_facts(NUMBERS + "SELECT k, v, ts FROM t", sources={"t": SourceFacts("json", has_arrow=False)})
    assert plan.of("t").chosen(Scan) is Scan.SPARK_JSON


def test_types_that_arrow_reads_are_those_that_it_is_given_for() -> None:
    assert set(arrow_json._TYPES) == ARROW_TYPES
