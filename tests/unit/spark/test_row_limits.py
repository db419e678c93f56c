"""Limits of bad, late and violating rows, judged by the accounts of batches."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

from windrow.errors import JobError
from windrow.model.row_limits import LimitedRows, RowLimit, StreamLimits
from windrow.observe.ledger import Account, Ledger
from windrow.plan.stages import Job
from windrow.spark.execution.batch import BatchContext, BatchInput, BatchResult
from windrow.spark.execution.row_limits import keep_to_row_limits
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState

MINUTE = 60_000_000


def limited(kind: LimitedRows, limit: RowLimit, *, is_source: bool = True, least: int = 100) -> Job:
    return Job("j", (), limits=(StreamLimits("s", is_source, ((kind, limit, "as written"),), least),))


def take(job: Job, counters: JobCounters, batch_id: int, account: Account, *, now: int = 0, name: str = "s") -> JobCounters:
    """The counters after a batch that had this account."""
    one = job.limits[0]
    ledger = Ledger({name: account}, {}) if one.is_source else Ledger({}, {name: account})
    run = BatchContext(BatchInput(batch_id, {}, now), BatchResult(batch_id, ledger=ledger), JobState(), {}, {}, counters.copy())
    keep_to_row_limits(job, run)
    return JobCounters.from_json(run.counters.to_json())


def bad(rows: int, of: int) -> Account:
    return Account(of, of - rows, 0, Counter({"WR701": rows}))


def test_more_rows_than_a_limit_stop_the_batch() -> None:
    job = limited(LimitedRows.BAD, RowLimit(Decimal(1)))
    take(job, JobCounters(), 0, bad(1, 3))
    with pytest.raises(JobError, match=r"source s: 2 of 3 rows \(66.7%\) of batch 0 are bad rows") as stopped:
        take(job, JobCounters(), 0, bad(2, 3))
    assert stopped.value.code == "WR906"


def test_a_share_is_judged_among_enough_rows() -> None:
    job = limited(LimitedRows.BAD, RowLimit(Decimal(5), is_share=True))
    take(job, JobCounters(), 0, bad(99, 99))
    take(job, JobCounters(), 0, bad(5, 100))
    with pytest.raises(JobError):
        take(job, JobCounters(), 0, bad(6, 100))


def test_a_span_adds_up_batches_and_forgets_what_is_older() -> None:
    job = limited(LimitedRows.BAD, RowLimit(Decimal(2), span=10 * MINUTE))
    counters = take(job, JobCounters(), 0, bad(1, 1), now=0)
    counters = take(job, counters, 1, bad(1, 1), now=5 * MINUTE)
    with pytest.raises(JobError, match=r"3 of 3 rows .* of the last 10m, up to batch 2"):
        take(job, counters, 2, bad(1, 1), now=9 * MINUTE)
    # The failed batch left nothing behind, and the first has left the span.
    take(job, counters, 2, bad(1, 1), now=11 * MINUTE)


def test_a_batch_without_such_rows_is_not_stopped_for_those_before_it() -> None:
    stated = RowLimit(Decimal(5), span=10 * MINUTE)
    counters = take(limited(LimitedRows.BAD, stated), JobCounters(), 0, bad(4, 4), now=0)
    take(limited(LimitedRows.BAD, RowLimit(Decimal(1), span=10 * MINUTE)), counters, 1, bad(0, 9), now=MINUTE)


def test_many_batches_of_a_span_are_few_pieces() -> None:
    job = limited(LimitedRows.BAD, RowLimit(Decimal(1000), span=60 * MINUTE))
    counters = JobCounters()
    for number in range(600):
        counters = take(job, counters, number, bad(1, 2), now=number * MINUTE // 10)
    recent = counters.of("s").recent
    assert len(recent) <= 61
    assert (sum(each[1] for each in recent), sum(each[2] for each in recent)) == (1200, 600)


@pytest.mark.parametrize(
    ("kind", "account"),
    [
        (LimitedRows.LATE, Account(1, 0, 0, Counter({"WR705": 1}))),
        (LimitedRows.LATE, Account(1, 0, 0, Counter(), Counter({"WR706": 1}))),
        (LimitedRows.LATE, Account(1, 1, 0, late_warned=1)),
        (LimitedRows.VIOLATING, Account(1, 0, 0, Counter({"WR708": 1}))),
        (LimitedRows.VIOLATING, Account(1, 1, 0, warned=Counter({"fair": 1}))),
    ],
)
def test_what_each_limit_counts(kind: LimitedRows, account: Account) -> None:
    for other in LimitedRows:
        job = limited(other, RowLimit(Decimal(0)), is_source=False)
        if other is kind:
            with pytest.raises(JobError, match="statement s/rows: 1 of 1 rows"):
                take(job, JobCounters(), 0, account, name="s/rows")
        else:
            take(job, JobCounters(), 0, account, name="s/rows")
