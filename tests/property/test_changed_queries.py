"""A query that changes while its state is kept: as if the new one had always run, from the first window that opens after the change."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.property.changed_job import CALLS, SECOND, PlainJob, Row, Text, column_of, expected
from windrow.changes import ChangeClass

QUICK = settings(phases=(Phase.generate,), max_examples=6, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
# So many in each home of state; --hypothesis-seed repeats a run.
SLOW = settings(QUICK, max_examples=int(os.environ.get("WINDROW_CHANGES", "1000")))
HOMES = ("resident", "distributed")
_DISORDER = 2


@st.composite
def texts(draw: st.DrawFn) -> Text:
    calls = tuple(draw(st.lists(st.sampled_from(CALLS), min_size=1, unique=True)))
    size, advance = draw(st.sampled_from([(10, 10), (20, 10), (30, 10)]))
    return Text(calls, size, advance, draw(st.integers(_DISORDER, 9)))


@st.composite
def changes(draw: st.DrawFn) -> tuple[Text, Text]:
    """Aggregates removed, added and in another order, another delay, an output column more: in one change or several."""
    old = draw(texts())
    kept = draw(st.permutations([call for call in old.calls if draw(st.booleans())]))
    added = [call for call in CALLS if call not in old.calls and draw(st.booleans())]
    calls = tuple(draw(st.permutations([*kept, *added]))) or old.calls
    return old, replace(old, calls=calls, delay=draw(st.integers(_DISORDER, 9)), extra=draw(st.sampled_from(["", ", _window_end AS e"])))


@st.composite
def inputs(draw: st.DrawFn) -> list[list[Row]]:
    """Batches of rows that are out of order by less than any delay."""
    batches, now = [], 0
    for size in draw(st.lists(st.integers(0, 5), min_size=2, max_size=12)):
        rows = []
        for _ in range(size):
            now += draw(st.integers(0, 7))
            at = max(0, now - draw(st.integers(0, _DISORDER - 1)))
            rows.append(Row(draw(st.sampled_from("abc")), draw(st.integers(-9, 9)), at * SECOND))
        batches.append(rows)
    return batches


def check(home: str, change: tuple[Text, Text], batches: list[list[Row]], cut: int) -> None:
    old, new = change
    cut = 1 + cut % (len(batches) - 1)
    with tempfile.TemporaryDirectory() as folder:
        job = PlainJob(Path(folder), home)
        job.run(old, batches[:cut])
        before, switch = list(job.said), job.switch(new)
        review = switch.review()
        assert review.obstacles == []
        if review.changes:
            assert switch.apply() == 2
        assert switch.review().changes == []
        job.run(new, batches[cut:], is_end=True)
        rows = [row for batch in batches for row in batch]
        assert job.ledger(new).statement("o").rows_in == len(rows)
        assert job.ledger(new).is_balanced
    assert len({one.window for one in job.said}) == len(job.said), "each window speaks once"
    of_old, of_new = expected(rows, old), expected(rows, new)
    assert {one.window for one in job.said} == set(of_new)
    latest = max((row.at for batch in batches[:cut] for row in batch), default=-1)
    for one in job.said:
        window = one.window
        if one in before:
            assert dict(one.values) == of_old[window]
            continue
        had = {column_of(call) for call in old.calls}
        for column, value in one.values:
            if column in had or one.start > latest:
                assert value == of_new[window][column]
            else:
                assert value in (None, of_new[window][column]), "a window that was open has no value, or a whole one"


@pytest.mark.parametrize("home", HOMES)
def test_windows_are_those_of_one_version(home: str) -> None:
    @QUICK
    @given(changes(), inputs(), st.integers(0, 99))
    def holds(change: tuple[Text, Text], batches: list[list[Row]], cut: int) -> None:
        check(home, change, batches, cut)

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("home", HOMES)
def test_windows_are_those_of_one_version_thousands_of_times(home: str) -> None:
    @SLOW
    @given(changes(), inputs(), st.integers(0, 99))
    def holds(change: tuple[Text, Text], batches: list[list[Row]], cut: int) -> None:
        check(home, change, batches, cut)

    holds()


@pytest.mark.parametrize("home", HOMES)
def test_a_rollback_is_as_if_nothing_had_been(home: str) -> None:
    @QUICK
    @given(changes(), inputs(), st.integers(0, 99))
    def holds(change: tuple[Text, Text], batches: list[list[Row]], cut: int) -> None:
        old, new = change
        cut = 1 + cut % (len(batches) - 1)
        with tempfile.TemporaryDirectory() as folder:
            job = PlainJob(Path(folder), home)
            job.run(old, batches[:cut])
            if not job.switch(new).review().changes:
                return
            job.switch(new).apply()
            before = list(job.said)
            job.run(new, batches[cut:])
            assert job.switch(new).rollback() == len(batches) - cut
            assert job.switch(old).review().changes == []
            job.said = before
            job.run(old, batches[cut:], is_end=True)
        rows = [row for batch in batches for row in batch]
        assert {one.window: dict(one.values) for one in job.said} == expected(rows, old)

    holds()


def test_what_is_asked_for_has_its_class(tmp_path: Path) -> None:
    job, old = PlainJob(tmp_path), Text(("COUNT(*)", "SUM(v)"))
    job.run(old, [[Row("a", 1, SECOND)]])
    asked = {
        ChangeClass.SAME: old,
        ChangeClass.AFTER_STATE: replace(old, extra=", _window_end AS e"),
        ChangeClass.CLOCK: replace(old, delay=5),
        ChangeClass.RESHAPED: replace(old, calls=("SUM(v)", "MAX(v)")),
        ChangeClass.SHAPE: replace(old, size=20, advance=20),
    }
    assert {klass: job.switch(text).review().klass for klass, text in asked.items()} == {klass: klass for klass in asked}
