"""Changes of what goes into a window, and of the window itself: each window is of exactly one text, and each row is counted once."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.property.changed_job import CALLS, DOUBLED, SECOND, PlainJob, Row, Said, Text, Window, expected

QUICK = settings(phases=(Phase.generate,), max_examples=12, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
# So many in each home of state; --hypothesis-seed repeats a run.
SLOW = settings(QUICK, max_examples=int(os.environ.get("WINDROW_CHANGES", "1000")))
HOMES = ("resident", "distributed")
_DELAY = 2
_WINDOWS = [(10, 10), (20, 20), (30, 10), (15, 10), (60, 60), (20, 5)]


@st.composite
def texts(draw: st.DrawFn) -> Text:
    calls = tuple(draw(st.lists(st.sampled_from(CALLS), min_size=1, unique=True)))
    size, advance = draw(st.sampled_from(_WINDOWS))
    is_cumulative = size % advance == 0 and size > advance and draw(st.booleans())
    delay, lateness = draw(st.integers(_DELAY, 9)), draw(st.sampled_from([0, 0, 7, 30]))
    # Windows that may be corrected remember what HAVING let out: these are for Spark to try.
    having = None if lateness else draw(st.sampled_from([None, None, 0, 1]))
    above = draw(st.sampled_from([None, -5, 0]))
    return Text(calls, size, advance, delay, above=above, lateness=lateness, is_cumulative=is_cumulative, having=having)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Text, Text]:
    """A text and another one: another filter, other keys, other windows, more lateness, other sums in the same columns."""
    old = draw(texts())
    new = replace(draw(texts()), calls=tuple(DOUBLED[call] if draw(st.booleans()) else call for call in old.calls))
    new = replace(new, is_keyed=draw(st.booleans()), offset=0 if new.is_cumulative else draw(st.sampled_from([0, 0, 5])))
    return old, new


@st.composite
def inputs(draw: st.DrawFn) -> list[list[tuple[Row, int]]]:
    """Batches of rows, each with how far it may be behind; how far it is then depends on what both texts wait for."""
    batches, now = [], 0
    for size in draw(st.lists(st.integers(0, 5), min_size=2, max_size=14)):
        rows = []
        for _ in range(size):
            now += draw(st.integers(0, 9))
            rows.append((Row(draw(st.sampled_from("abc")), draw(st.integers(-9, 9)), now * SECOND), draw(st.integers(0, 50))))
        batches.append(rows)
    return batches


def out_of_order(batches: list[list[tuple[Row, int]]], most: int) -> list[list[Row]]:
    """Nothing is so late that a text would not take it."""
    return [[row._replace(at=max(0, row.at - back % most * SECOND)) for row, back in batch] for batch in batches]


def last_said(said: list[Said]) -> dict[Window, Said]:
    """A window that is corrected speaks again."""
    return {one.window: one for one in said}


def check(home: str, change: tuple[Text, Text], drawn: list[list[tuple[Row, int]]], cut: int, is_restarted: bool) -> None:
    old, new = change
    batches = out_of_order(drawn, min(old.delay, new.delay) + min(old.lateness, new.lateness))
    cut = 1 + cut % (len(batches) - 1)
    rows = [row for batch in batches for row in batch]
    with tempfile.TemporaryDirectory() as folder:
        job = PlainJob(Path(folder), home)
        job.run(old, batches[:cut])
        review = job.switch(new).review()
        if old.offset % 5 != new.offset % 5:
            return
        assert review.obstacles == [] or "never start at the same time" in review.obstacles[0]
        if not review.changes or review.obstacles:
            return
        assert job.switch(new).apply() == 2
        assert job.switch(new).review().changes == []
        for batch in batches[cut:] if is_restarted else ():
            job.run(new, [batch])
        job.run(new, () if is_restarted else batches[cut:], is_end=True)
        account = job.ledger(new).statement("o")
        assert account.rows_in == len(rows)
        assert account.is_balanced
        assert not account.dead["WR705"]
    of_old, of_new = expected(rows, old), expected(rows, new)
    if review.cut is None:
        # Windows that had closed were asked by the HAVING of then.
        mark = max((row.at for batch in batches[:cut] for row in batch), default=-1) - old.delay * SECOND
        is_asked_anew = old.having != new.having
        wanted = {w: v for w, v in of_old.items() if is_asked_anew and w[2] <= mark}
        wanted |= {w: v for w, v in of_new.items() if not is_asked_anew or w[2] > mark}
        assert {window: dict(one.values) for window, one in last_said(job.said).items()} == wanted
        return
    at = review.cut.at
    assert at > max((row.at for batch in batches[:cut] for row in batch), default=-1), "above every time that was seen"
    before = {window: values for window, values in of_old.items() if window[1] < at}
    after = {window: values for window, values in of_new.items() if window[1] >= at}
    assert {window: dict(one.values) for window, one in last_said(job.said).items()} == {**before, **after}
    if not (old.lateness or new.lateness):
        assert len(last_said(job.said)) == len(job.said), "each window speaks once"


@pytest.mark.parametrize("home", HOMES)
def test_each_window_is_of_one_text(home: str) -> None:
    @QUICK
    @given(changes(), inputs(), st.integers(0, 99), st.booleans())
    def holds(change: tuple[Text, Text], batches: list[list[tuple[Row, int]]], cut: int, is_restarted: bool) -> None:
        check(home, change, batches, cut, is_restarted)

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("home", HOMES)
def test_each_window_is_of_one_text_thousands_of_times(home: str) -> None:
    @SLOW
    @given(changes(), inputs(), st.integers(0, 99), st.booleans())
    def holds(change: tuple[Text, Text], batches: list[list[tuple[Row, int]]], cut: int, is_restarted: bool) -> None:
        check(home, change, batches, cut, is_restarted)

    holds()


@pytest.mark.parametrize("home", HOMES)
def test_a_rollback_in_the_midst_of_it_is_as_if_nothing_had_been(home: str) -> None:
    @QUICK
    @given(changes(), inputs(), st.integers(0, 99))
    def holds(change: tuple[Text, Text], drawn: list[list[tuple[Row, int]]], cut: int) -> None:
        old, new = change
        batches = out_of_order(drawn, min(old.delay, new.delay) + min(old.lateness, new.lateness))
        cut = 1 + cut % (len(batches) - 1)
        with tempfile.TemporaryDirectory() as folder:
            job = PlainJob(Path(folder), home)
            job.run(old, batches[:cut])
            review = job.switch(new).review()
            if not review.changes or review.obstacles:
                return
            job.switch(new).apply()
            before = list(job.said)
            job.run(new, batches[cut:])
            assert job.switch(new).rollback() == len(batches) - cut
            assert job.switch(old).review().changes == []
            job.said = before
            job.run(old, batches[cut:], is_end=True)
        rows = [row for batch in batches for row in batch]
        assert {window: dict(one.values) for window, one in last_said(job.said).items()} == expected(rows, old)

    holds()


def test_a_window_has_a_value_in_every_column_that_both_texts_have(tmp_path: Path) -> None:
    job, old = PlainJob(tmp_path), Text(("SUM(v)",))
    new = replace(old, calls=("SUM(v * 2)",))
    job.run(old, [[Row("a", 3, 1 * SECOND)]])
    review = job.switch(new).review()
    assert (review.klass.value, review.cut is not None) == ("E", True)
    job.switch(new).apply()
    job.run(new, [[Row("a", 4, 2 * SECOND), Row("a", 5, 12 * SECOND)]], is_end=True)
    assert [(one.start // SECOND, dict(one.values)) for one in job.said] == [(0, {"c_sum": 7}), (10, {"c_sum": 10})]


def test_no_other_change_is_applied_while_windows_of_two_texts_are_open(tmp_path: Path) -> None:
    job, old = PlainJob(tmp_path), Text(("COUNT(*)",))
    second, third = replace(old, above=0), replace(old, above=3)
    job.run(old, [[Row("a", 1, 1 * SECOND)]])
    job.switch(second).apply()
    job.run(second, [[Row("a", 4, 11 * SECOND)]])
    assert "windows of version 1 are still open" in job.switch(third).review().obstacles[0]
    job.run(second, [[Row("a", 4, 13 * SECOND)]])
    assert job.switch(third).review().obstacles == []
    assert job.switch(third).apply() == 3
    job.run(third, [[Row("a", 1, 21 * SECOND)], [Row("a", 5, 45 * SECOND)]], is_end=True)
    assert [(one.start // SECOND, dict(one.values)["c_count"]) for one in job.said] == [(0, 1), (10, 2), (40, 1)]
