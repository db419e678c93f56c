"""Statuses of a job as its endpoints and metrics get them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from windrow.observe.distribution import Distribution
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import (
    RUNNING,
    JavaUse,
    JobStatus,
    Measured,
    OperatorStatus,
    PartitionStatus,
    RunCounts,
    SourceStatus,
    StateSize,
    TableLoad,
    WindowTotals,
)
from windrow.resilience import SystemState

SECOND = 1_000_000


def status(**changes: Any) -> JobStatus:
    """A job that has seen a bit of everything."""
    source = Account(rows_in=10, passed=7, dead=Counter(WR701=2), dropped=Counter(WR704=1), replayed=Counter(WR701=3))
    statement = Account(rows_in=7, passed=5, filtered=1, dead=Counter(WR705=1), late_corrected=1, emitted=4)
    seconds = Distribution()
    seconds.take(0.3)
    partitions = (PartitionStatus(0, 90 * SECOND, 80 * SECOND, 100 * SECOND, False), PartitionStatus(1, None, None, 100 * SECOND, True))
    told: dict[str, Any] = {
        "state": RUNNING,
        "batch_id": 4,
        "lag_seconds": 20.0,
        "ledger": Ledger({"orders": source}, {"totals": statement}),
        "sources": (SourceStatus("orders", partitions, 100 * SECOND, {"0": 5, "1": 0}),),
        "operators": (OperatorStatus("totals", "aggregate", total_rows_in=7, total_rows_out=4, state=StateSize(3, 300, 2)),),
        "tables": (TableLoad("rates", 50, 100, 1.0),),
        "stale_tables": {},
        "window_totals": (WindowTotals("totals", 6, 4, 3),),
        "systems": (SystemState("PostgreSQL db", "closed", 0, None, None, 2),),
        "counts": RunCounts(5, 1, 0, 30.0, {("WR860", "transient"): 1}, {("totals", "WR877"): 2}),
        "java": JavaUse(1, 2, 3, 4.0),
        "started_at": 1000.0,
        "committed_at": 1100.0,
        "distributions": (Measured("batch_duration_seconds", (), seconds),),
    }
    return JobStatus("shop", **{**told, **changes})
