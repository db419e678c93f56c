"""What ``windrow why``, EXPLAIN ANALYZE and ``windrow advise`` must say of each job that is broken on purpose."""

from pathlib import Path

RECORDED = Path(__file__).parent / "recorded"
SITUATIONS = [
    "idle_partition",
    "future_row",
    "wrong_unit",
    "wrong_unit_future",
    "short_delay",
    "skewed_key",
    "slow_sink",
    "broker_away",
    "stale_table",
    "state_limit",
    "empty_filter",
]
