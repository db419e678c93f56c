"""What a batch cost is measured in one place: phases that add up, rows from the ledger, nothing invented."""

from __future__ import annotations

import time
from contextlib import suppress

import pyarrow as pa
import pytest

from windrow.catalog import build_catalog
from windrow.observe.ledger import Ledger
from windrow.plan import plan_script
from windrow.plan.physical import physical_plan
from windrow.spark.execution.measurements import BatchMeasurements, Phase, RunMeasurements
from windrow.spark.query.flow import Flow
from windrow.sql import parse

SQL = (
    "CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'memory'); CREATE STREAM a AS SELECT k, v FROM t WHERE v > 1; "
    "CREATE STREAM b AS SELECT k, v FROM t; SELECT k FROM a UNION ALL SELECT k FROM b"
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the measurements, as a list of one."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_phases_add_up_and_an_inner_one_is_taken_out_of_the_outer(clock: list[float]) -> None:
    batch = BatchMeasurements()
    clock[0] += 1
    with batch.operator("sums", Phase.AGGREGATE):
        clock[0] += 4
        with batch.phase(Phase.STEP):
            clock[0] += 2
        clock[0] += 1
    with batch.phase(Phase.COMMIT):
        clock[0] += 8
    batch.end()
    wanted = {"plan": 1.0, "aggregate": 5.0, "step": 2.0, "commit": 8.0}
    assert {name: seconds for name, seconds in batch.phases.items() if seconds} == wanted
    assert batch.seconds == 16.0
    assert batch.operators["sums"].seconds == 7.0


def test_a_phase_that_fails_is_left(clock: list[float]) -> None:
    batch = BatchMeasurements()
    with suppress(ValueError), batch.operator("sums", Phase.AGGREGATE):
        clock[0] += 1
        raise ValueError
    clock[0] += 2
    batch.end()
    clock[0] += 4
    assert (batch.phases["aggregate"], batch.phases["plan"]) == (1.0, 2.0)


def test_rows_are_those_of_the_ledger() -> None:
    script = parse(SQL)
    (job,) = plan_script(script, build_catalog(script)).jobs
    plan, ledger, batch = physical_plan(job), Ledger(), BatchMeasurements()
    source = ledger.source("t")
    source.rows_in, source.passed = 10, 9
    for name, rows in {"a": 4, "b": 9}.items():
        account = ledger.statement(name)
        account.rows_in, account.emitted = 9, rows
    batch.take_ledger(plan, ledger)
    found = {name: (own.rows_in, own.rows_out) for name, own in batch.operators.items()}
    assert found["t"] == (10, 9)
    assert found["a"] == (9, 4)
    union = next(spec.name for spec in plan if spec.kind == "UnionAll")
    assert found[union][0] is not None
    assert {name: rows for name, rows in found.items() if "->" in name} == {f"{union} -> console": (found[union][1],) * 2}


def test_rows_in_the_driver_have_bytes_and_those_elsewhere_have_none() -> None:
    batch = BatchMeasurements()
    batch.take_flow("here", Flow(("a",), table=pa.table({"a": [1, 2]})))
    batch.take_flow("nothing", None)
    assert (batch.operators["here"].rows_out, batch.operators["here"].bytes_out) == (2, 16)
    assert (batch.operators["nothing"].rows_out, batch.operators["nothing"].bytes_out) == (0, None)


def test_a_run_is_the_sum_of_its_batches(clock: list[float]) -> None:
    run = RunMeasurements()
    for rows in (3, None, 4):
        batch = BatchMeasurements()
        with batch.operator("sums", Phase.STEP):
            clock[0] += 1
        batch.operators["sums"].rows_in = rows
        run.add(batch)
    assert run.phases["step"] == 3.0
    assert (run.operators["sums"].seconds, run.operators["sums"].rows_in, run.operators["sums"].rows_out) == (3.0, 7, None)
