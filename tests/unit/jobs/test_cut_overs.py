"""What can be cut over at a window boundary, where, and why not."""

from __future__ import annotations

import pytest

from windrow.changes import Change, Strategy, changes_between, cut_over, mixed, rebuilt, why_not_rebuilt
from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.model.window_kinds import Cumulate, Sliding, Tumbling
from windrow.plan.cut_over import CutOver, closed_for_good, uncounted, with_both, without_old
from windrow.plan.explain_json import job_to_json
from windrow.plan.stages import Job
from windrow.plan.window_cut import common_start

SECOND = 1_000_000
SOURCE = """
CREATE STREAM t (k STRING, v INT, w INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in', 'event.time.field' = 'ts');
CREATE TABLE p (k STRING, f INT, PRIMARY KEY (k)) WITH ('connector' = 'files', 'path' = 'p');
{}
"""
SINK = " WITH ('connector' = 'files', 'path' = 'out')"
SUMS = "CREATE STREAM o AS SELECT k, SUM(v) AS n FROM t GROUP BY k WINDOW TUMBLING(1m)"


def job_of(text: str) -> Job:
    return compile_sql(SOURCE.format(f"{text};"), "q.sql", {}).plan.jobs[0]


def found(before: str, after: str) -> tuple[list[Change], tuple[str, ...]]:
    old, new = job_of(before), job_of(after)
    return cut_over(old, new, changes_between(job_to_json(old), job_to_json(new)))


@pytest.mark.parametrize(
    "after",
    [
        SUMS.replace("FROM t", "FROM t WHERE w > 1"),
        SUMS.replace("(1m)", "(5m)"),
        SUMS.replace("TUMBLING(1m)", "SLIDING(5m, 1m)"),
        SUMS.replace("SELECT k", "SELECT w").replace("BY k", "BY w").replace("SELECT w", "SELECT CAST(w AS STRING) AS k"),
        SUMS.replace("SUM(v)", "SUM(v * 2)"),
        f"{SUMS} ALLOWED_LATENESS 1m",
        f"{SUMS} EMIT CHANGES",
        f"{SUMS} TRIGGER EVERY 30s",
        f"{SUMS} ALLOWED_LATENESS 1m HAVING SUM(v) > 1",
        SUMS.replace("FROM t", "FROM t JOIN p ON t.k = p.k WHERE p.f > 1").replace("SELECT k", "SELECT t.k").replace("BY k", "BY t.k"),
    ],
)
def test_what_is_cut_over(after: str) -> None:
    changes, stages = found(SUMS, after)
    assert stages == ("o",)
    assert [change.refused for change in changes if change.refused] == []
    assert any(change.is_cut for change in changes)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (SUMS, SUMS.replace("WINDOW TUMBLING(1m)", "WINDOW SESSION(1m)"), "SESSION windows of o begin where rows say"),
        (SUMS, SUMS.replace(" WINDOW TUMBLING(1m)", ""), "groups of o have no window"),
        (SUMS, f"{SUMS.replace('FROM t', 'FROM t WHERE w > 1')} LIMIT 5", "o has a LIMIT"),
        (
            SUMS.replace("TUMBLING", "SESSION"),
            SUMS.replace("TUMBLING", "SESSION").replace("(v)", "(v * 2)"),
            "have not counted what n is made of",
        ),
        (SUMS, SUMS.replace("(1m)", "(5m) ON PROCESSING_TIME()"), "go by the time of arrival"),
        (SUMS, f"{SUMS.replace('(1m)', '(5m)')} LATE_DATA_STRATEGY INCLUDE_IN_NEXT", "late rows of o go to the next open window"),
        (SUMS + SINK, SUMS.replace("SUM(v)", "AVG(v)").replace("FROM t", "FROM t WHERE w > 1") + SINK, "column n of o would be BIGINT"),
        (
            "CREATE STREAM o AS SELECT k, v, COUNT(*) OVER (ROWS WINDOW BUFFER 3 ROWS PARTITION BY k) AS n FROM t WHERE v > 1",
            "CREATE STREAM o AS SELECT k, v, COUNT(*) OVER (ROWS WINDOW BUFFER 3 ROWS PARTITION BY k) AS n FROM t WHERE v > 2",
            "keeps rows, and no window says which text they are of",
        ),
    ],
)
def test_what_is_not_says_why(before: str, after: str, why: str) -> None:
    changes, stages = found(before, after)
    assert stages == ()
    assert any(why in change.refused for change in changes), [change.refused for change in changes]


HOURS = "CREATE STREAM h AS SELECT k, SUM(n) AS m FROM o GROUP BY k WINDOW TUMBLING(1h)"


def test_statements_that_group_what_others_put_out_are_cut_over_together() -> None:
    before, after = (f"{SUMS.replace('FROM t', f'FROM t WHERE w > {least}')}; {HOURS}" for least in (1, 2))
    _, stages = found(before, after)
    assert stages == ("o", "h")
    both = with_both(job_of(before), job_of(after), CutOver(3600 * SECOND, 1, stages))
    inputs = {stage.name: stage.inputs for stage in both.stages if stage.name[0] in "oh"}
    assert inputs == {"o/v1": ("t",), "o": ("t",), "h/v1": ("o/v1",), "h": ("o",)}
    assert list(inputs) == ["o/v1", "o", "h/v1", "h"]
    assert closed_for_good(both) == dict.fromkeys(("o/v1", "o", "h/v1", "h"), 3600 * SECOND)
    assert without_old(both) == job_of(after)


def test_time_goes_on_for_as_long_as_the_old_text_needs_it() -> None:
    with_ticks, without = f"{SUMS} TRIGGER EVERY 30s", SUMS
    both = with_both(job_of(with_ticks), job_of(without), CutOver(60 * SECOND, 1, ("o",)))
    assert both.needs_ticks
    assert not job_of(without).needs_ticks


def test_what_feeds_old_windows_stands_twice_and_the_rest_once() -> None:
    sums = SUMS.replace("FROM t", "FROM f")
    before, after = (f"CREATE STREAM f AS SELECT k, v FROM t WHERE w > {least}; {sums}" for least in (1, 2))
    _, stages = found(before, after)
    both = with_both(job_of(before), job_of(after), CutOver(60 * SECOND, 1, stages))
    assert [stage.name for stage in both.stages] == ["t", "f", "f/v1", "o/v1", "o"]
    assert uncounted(both) == ("f/v1",)


def test_windows_that_reach_beyond_the_cut_do_not_feed_others() -> None:
    sliding = SUMS.replace("TUMBLING(1m)", "SLIDING(2m, 1m)")
    changes, stages = found(*(f"{sliding.replace('FROM t', f'FROM t WHERE w > {least}')}; {HOURS}" for least in (1, 2)))
    assert stages == ()
    assert any("windows of o reach beyond the cut" in change.refused for change in changes)


def test_windows_of_both_texts_start_together() -> None:
    assert common_start([Tumbling(60), Tumbling(300)], 61) == 300
    assert common_start([Tumbling(60), Tumbling(300)], 300) == 600
    assert common_start([Sliding(10, 4), Tumbling(6, offset=2)], -100) == -88
    assert common_start([Tumbling(60), Tumbling(60, offset=7)], 0) is None
    assert common_start([Cumulate(step=10, size=60), Tumbling(90)], 0) == 180


def test_a_strategy_that_there_is_not() -> None:
    with pytest.raises(UsageError) as error:
        Strategy.of("merge")
    assert error.value.code == "WR677"


FOREVER = "CREATE STREAM o AS SELECT k, SUM(v) AS n FROM t{} GROUP BY k"


@pytest.mark.parametrize(
    ("before", "after", "is_made"),
    [
        (FOREVER.format(""), FOREVER.format(" WHERE v > 1"), True),
        (FOREVER.format(""), FOREVER.format("").replace("AS n", "AS n, MAX(w) AS m"), True),
        (FOREVER.format(""), FOREVER.format("").replace("AS n", "AS n, COUNT(DISTINCT w) AS m"), False),
        (FOREVER.format(""), FOREVER.format("").replace("SUM(v)", "SUM(v * 2)"), True),
        (SUMS, SUMS.replace("FROM t", "FROM t WHERE w > 1"), True),
        (SUMS.replace("TUMBLING", "SESSION"), SUMS.replace("TUMBLING", "SESSION").replace("FROM t", "FROM t WHERE w > 1"), True),
        (SUMS.replace("TUMBLING", "SESSION"), SUMS.replace("TUMBLING(1m)", "SESSION(2m)"), False),
    ],
)
def test_what_can_be_mixed(before: str, after: str, is_made: bool) -> None:
    old, new = job_of(before), job_of(after)
    changes = mixed(old, new, changes_between(job_to_json(old), job_to_json(new)))
    assert all(not change.refused for change in changes) is is_made
    assert any(change.is_mixed for change in changes) is is_made


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (FOREVER.format(""), FOREVER.format(" WHERE v > 1"), []),
        (SUMS.replace("TUMBLING", "SESSION"), SUMS.replace("TUMBLING(1m)", "SESSION(2m)"), []),
        (SUMS, SUMS.replace("(1m)", "(5m) ON PROCESSING_TIME()"), ["by the time of arrival"]),
    ],
)
def test_what_can_be_built_anew_from_the_sources(before: str, after: str, why: list[str]) -> None:
    old, new = job_of(before), job_of(after)
    assert [change.refused for change in rebuilt(changes_between(job_to_json(old), job_to_json(new))) if change.refused] == []
    found = why_not_rebuilt(old, new)
    assert len(found) == len(why)
    assert all(part in told for part, told in zip(why, found, strict=True))


def test_rows_of_another_place_are_no_state_of_before() -> None:
    old = job_of(SUMS)
    new = compile_sql(SOURCE.format(f"{SUMS};").replace("'path' = 'in'", "'path' = 'other'"), "q.sql", {}).plan.jobs[0]
    assert any("by their place" in change.refused for change in rebuilt(changes_between(job_to_json(old), job_to_json(new))))


def test_a_column_that_becomes_null_when_mixed_says_so() -> None:
    sessions = SUMS.replace("TUMBLING", "SESSION")
    old, new = job_of(sessions), job_of(sessions.replace("SUM(v)", "SUM(v * 2)"))
    changes = mixed(old, new, changes_between(job_to_json(old), job_to_json(new)))
    assert [change.state for change in changes if change.is_mixed] == ["NULL in windows and groups that are open now"]
