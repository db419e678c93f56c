"""How far event time had come before each row, in its own partition and in the whole source: what the exact clock judges by."""

from __future__ import annotations

from windrow.connectors.runtime import SEQ
from windrow.spark.compile.expressions import of_batch
from windrow.windowing.clock import Clock

_BEFORE = f"ORDER BY `{SEQ}` ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"


def row_watermarks_sql(clock: Clock, partition_sql: str, idle_timeout: int | None, now: int, time: str, moves: str) -> tuple[str, str]:
    """SQL for both watermarks. ``clock`` is the one the batch started with, ``partition_sql`` tells its partitions apart.

    ``moves`` says which rows move it, ``time`` to where.
    """
    greatest = {p: progress.greatest for p, progress in clock.partitions.items()}
    known = " ".join(f"WHEN {p} THEN {of_batch(at, partition_sql)}" for p, at in greatest.items() if at is not None)
    start = f"CASE {partition_sql} {known} END" if known else "CAST(NULL AS BIGINT)"
    own = f"greatest(max(CASE WHEN {moves} THEN {time} END) OVER (PARTITION BY {partition_sql} {_BEFORE}), {start})"
    seen = {p: clock.partitions[p].seen_at for p in greatest}
    holding = [p for p in greatest if idle_timeout is None or now - seen[p] < idle_timeout]
    if len(greatest) == 1:
        return own, own
    return own, _least(clock, partition_sql, {p: greatest[p] for p in holding}, time, moves)


def _least(clock: Clock, partition_sql: str, holding: dict[int, int | None], time: str, moves: str) -> str:
    """The least over the partitions that hold the source back, once each of them has brought a row."""
    floor = "CAST(NULL AS BIGINT)" if clock.low is None else of_batch(clock.low, partition_sql)
    each = []
    for partition, at in holding.items():
        start = "CAST(NULL AS BIGINT)" if at is None else of_batch(at, partition_sql)
        each.append(f"greatest(max(CASE WHEN {partition_sql} = {partition} AND {moves} THEN {time} END) OVER ({_BEFORE}), {start})")
    if len(each) < 2:
        return f"greatest({each[0]}, {floor})" if each else floor
    all_there = " AND ".join(f"{mark} IS NOT NULL" for mark in each)
    return f"greatest(CASE WHEN {all_there} THEN least({', '.join(each)}) END, {floor})"
