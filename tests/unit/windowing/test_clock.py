"""Event time per partition, silent partitions, and the watermark that follows."""

from __future__ import annotations

import json

import pytest

from windrow.windowing.clock import Clock
from windrow.windowing.columns import FOREVER

SECOND = 1_000_000


def test_it_is_unset_before_any_row() -> None:
    assert Clock.start([0], now=0).watermark(delay=0) is None
    assert Clock.start([], now=0).advance({}, now=5).watermark(delay=0) is None


def test_it_is_the_least_over_the_partitions_less_the_delay() -> None:
    clock = Clock.start([0, 1], now=0).advance({0: 30, 1: 20}, now=0)
    assert clock.watermark(delay=0) == 20
    assert clock.watermark(delay=5) == 15


def test_a_partition_that_has_sent_nothing_holds_it_back() -> None:
    clock = Clock.start([0, 1], now=0).advance({0: 30}, now=1)
    assert clock.watermark(0) is None
    assert clock.advance({1: 7}, now=2).watermark(0) == 7


def test_it_never_goes_back() -> None:
    clock = Clock.start([0], now=0).advance({0: 30}, now=0).advance({0: 10}, now=1)
    assert clock.watermark(0) == 30
    assert clock.partitions[0].greatest == 30


def test_a_partition_that_joins_later_does_not_take_it_back() -> None:
    clock = Clock.start([0], now=0).advance({0: 30}, now=0).advance({1: 5}, now=1)
    assert clock.watermark(0) == 30
    assert clock.advance({1: 33}, now=2).watermark(0) == 30, "it holds the watermark from now on"


def test_arrival_time_never_goes_back() -> None:
    clock = Clock.start([0], now=10).advance({0: 1}, now=5)
    assert clock.now == 10
    assert clock.partitions[0].seen_at == 10


class TestIdle:
    def test_a_silent_partition_stops_holding_it_back_when_the_timeout_is_over(self) -> None:
        clock = Clock.start([0, 1], now=0).advance({0: 30, 1: 10}, now=0, idle_timeout=10)
        before = clock.advance({0: 40}, now=9, idle_timeout=10)
        assert (before.watermark(0), before.idle(10)) == (10, ())
        after = before.advance({0: 50}, now=10, idle_timeout=10)
        assert (after.watermark(0), after.idle(10)) == (50, (1,))

    def test_one_that_never_sent_a_row_falls_idle_too(self) -> None:
        clock = Clock.start([0, 1], now=0).advance({0: 30}, now=10, idle_timeout=10)
        assert clock.watermark(0) == 30

    def test_without_a_timeout_none_is_idle(self) -> None:
        clock = Clock.start([0], now=0).advance({0: 30}, now=0).advance({}, now=10**12)
        assert (clock.watermark(0), clock.idle(None)) == (30, ())

    def test_when_all_are_silent_it_drifts_from_the_moment_the_timeout_ran_out(self) -> None:
        clock = Clock.start([0], now=0).advance({0: 100}, now=5, idle_timeout=10)
        assert clock.advance({}, now=14, idle_timeout=10).watermark(0) == 100
        assert clock.advance({}, now=15, idle_timeout=10).watermark(0) == 100
        assert clock.advance({}, now=40, idle_timeout=10).watermark(0) == 125
        assert clock.advance({}, now=40, idle_timeout=10).watermark(delay=20) == 105

    def test_how_often_it_ticks_does_not_matter(self) -> None:
        start = Clock.start([0, 1], now=0).advance({0: 100, 1: 40}, now=0, idle_timeout=10).advance({0: 110}, now=4, idle_timeout=10)
        at_once = start.advance({}, now=50, idle_timeout=10)
        ticking = start
        for now in range(5, 51):
            ticking = ticking.advance({}, now=now, idle_timeout=10)
        assert ticking.watermark(0) == at_once.watermark(0) == 110 + 50 - 14

    def test_a_partition_that_wakes_up_goes_on_from_where_the_drift_came_to(self) -> None:
        clock = Clock.start([0], now=0).advance({0: 100}, now=0, idle_timeout=10).advance({}, now=30, idle_timeout=10)
        assert clock.watermark(0) == 120
        awake = clock.advance({0: 105}, now=31, idle_timeout=10)
        assert awake.watermark(0) == 120, "never back"
        assert awake.advance({}, now=45, idle_timeout=10).watermark(0) == 120 + 45 - 41
        assert awake.advance({0: 200}, now=32, idle_timeout=10).watermark(0) == 200

    def test_nothing_drifts_where_nothing_was_ever_seen(self) -> None:
        assert Clock.start([0], now=0).advance({}, now=1000, idle_timeout=10).watermark(0) is None


class TestForced:
    def test_it_sets_the_watermark_whatever_the_delay(self) -> None:
        clock = Clock.start([0], now=0).advance({0: 10}, now=0).force(50)
        assert clock.watermark(delay=100) == 50

    def test_it_works_before_any_row_and_never_goes_back(self) -> None:
        assert Clock.start([0], now=0).force(50).force(20).watermark(0) == 50

    def test_rows_may_go_beyond_it(self) -> None:
        assert Clock.start([0], now=0).force(50).advance({0: 70}, now=1).watermark(0) == 70

    def test_the_end_closes_everything_and_stays(self) -> None:
        clock = Clock.start([0], now=0).end()
        assert clock.is_ended
        assert clock.advance({0: 5}, now=1).force(3).watermark(delay=7) == FOREVER


@pytest.mark.parametrize(
    "clock",
    [
        Clock.start([], now=0),
        Clock.start([0, 3], now=-5 * SECOND),
        Clock.start([0, 1], now=0).advance({0: -30, 1: 20}, now=7, idle_timeout=3).force(-4),
        Clock.start([0], now=0).advance({0: 1}, now=0, idle_timeout=1).advance({}, now=90, idle_timeout=1).end(),
    ],
)
def test_json_gives_the_same_clock_back(clock: Clock) -> None:
    assert Clock.from_json(json.loads(json.dumps(clock.to_json()))) == clock
