"""The steps against the reference, for random windows, clocks, emission rules, orders and batch cuts.

A failure prints the blob that reproduces it. The quick profile runs always; ``-m slow`` picks the one with thousands of examples.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.feeding import Engine, step_of
from tests.property.reference import Batch, CountWindow, Emission, FixedWindow, Mode, Query, Reference, Row, SessionWindow
from tests.property.strategies import cut, inputs, queries, runs, session_windows
from windrow.windowing import counted, sessions
from windrow.windowing.step import Tables

QUICK = settings(max_examples=70, deadline=None, derandomize=False, print_blob=True, suppress_health_check=list(HealthCheck))
SLOW = settings(QUICK, max_examples=2000)
MODES: tuple[Mode, ...] = ("final", "changes", "per_batch", "trigger")
SEEDS = st.integers(0, 99)


def check_against_reference(query: Query, batches: list[Batch], seed: int) -> None:
    engine, reference = Engine(query, Random(seed)), Reference(query)
    for batch in batches:
        said, expected = engine.take(batch), reference.take(batch)
        assert Counter(said) == Counter(expected), f"{set(said) - set(expected)} instead of {set(expected) - set(said)}"
        assert Counter(map(_bare, engine.rejected)) == Counter(map(_bare, reference.rejected))
        if query.mode == "changes":
            assert said == expected, "changes come in input order"
        elif not isinstance(query.window, CountWindow):
            assert _are_numbered_in_order(said, 3 if isinstance(query.window, FixedWindow) else 2)


def _bare(row: Row) -> tuple[int | None, int, int]:
    return row.value, row.at, row.partition


def _are_numbered_in_order(said: list[Emission], telling: int) -> bool:
    """The first ``telling`` values of an emission say of which window it is: the end of a session moves."""
    latest: dict[tuple[object, ...], int] = {}
    for emission in said:
        if emission.revision <= latest.get(emission[:telling], 0):
            return False
        latest[emission[:telling]] = emission.revision
    return True


@pytest.mark.parametrize("mode", MODES)
def test_steps_do_what_the_reference_does(mode: Mode) -> None:
    @QUICK
    @given(runs(mode), SEEDS)
    def holds(run: tuple[Query, list[Batch]], seed: int) -> None:
        check_against_reference(*run, seed)

    holds()


def test_changes_do_not_depend_on_how_many_rows_are_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "ROWS_AT_ONCE", 2)
    monkeypatch.setattr(counted, "ROWS_AT_ONCE", 2)

    @QUICK
    @given(runs("changes"), SEEDS)
    def holds(run: tuple[Query, list[Batch]], seed: int) -> None:
        check_against_reference(*run, seed)

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_steps_do_what_the_reference_does_thousands_of_times(mode: Mode) -> None:
    @SLOW
    @given(runs(mode), SEEDS)
    def holds(run: tuple[Query, list[Batch]], seed: int) -> None:
        check_against_reference(*run, seed)

    holds()


def _whole_run(query: Query, batches: list[Batch], seed: int) -> tuple[Engine, list[Emission]]:
    engine = Engine(query, Random(seed))
    return engine, [emission for batch in batches for emission in engine.take(batch)]


@QUICK
@given(st.data(), SEEDS)
def test_the_cut_does_not_matter_for_rows_in_order(data: st.DataObject, seed: int) -> None:
    query = data.draw(queries("final", "changes", "trigger"))
    # These two follow the arrival clock, which is a different one in every cut.
    query = replace(query, idle_timeout=None, interval=None)
    rows = data.draw(inputs(query.partitions, is_in_order=True))
    results = []
    for _ in range(2):
        batches = data.draw(cut(rows, may_force=False, may_end=False))
        engine, said = _whole_run(query, [*batches, Batch((), 10_000, is_end=True)], seed)
        assert not engine.rejected
        results.append(Counter(said))
    assert results[0] == results[1]


@QUICK
@given(st.data(), SEEDS)
def test_sessions_do_not_depend_on_the_order_of_rows_in_time(data: st.DataObject, seed: int) -> None:
    """With a limit, too: sessions are cut from their first row on, whenever that comes."""
    query = replace(data.draw(queries("final")), window=data.draw(session_windows()), delay=10_000, idle_timeout=None, lateness=0)
    rows = data.draw(inputs(query.partitions))
    results = []
    for order in (rows, data.draw(st.permutations(rows)), sorted(rows, key=lambda row: row.at)):
        batches = data.draw(cut(list(order), may_force=False, may_end=False))
        engine, said = _whole_run(query, [*batches, Batch((), 10_000, is_end=True)], seed)
        assert not engine.rejected
        # FIRST and LAST are of the rows as they came.
        results.append(Counter(emission._replace(values=emission.values[:4]) for emission in said))
    assert results[0] == results[1] == results[2]


def _exact(query: Query) -> Query:
    # Idle partitions and intervals follow the arrival clock, which is a different one in every cut.
    return replace(query, is_exact=True, idle_timeout=None, interval=None)


@QUICK
@given(st.data(), SEEDS)
def test_with_the_exact_clock_the_cut_matters_for_no_order(data: st.DataObject, seed: int) -> None:
    query = _exact(data.draw(queries("final", "changes", "trigger")))
    rows = data.draw(inputs(query.partitions))
    results = []
    for _ in range(2):
        batches = data.draw(cut(rows, may_force=False, may_end=False))
        engine, said = _whole_run(query, [*batches, Batch((), 10_000, is_end=True)], seed)
        results.append((Counter(said), Counter(map(_bare, engine.rejected))))
    assert results[0] == results[1]


@QUICK
@given(st.data(), SEEDS)
def test_the_exact_clock_gives_what_rows_one_by_one_give(data: st.DataObject, seed: int) -> None:
    """Of one partition, whose watermark is the source's."""
    query = replace(_exact(data.draw(queries("final", "changes", "trigger"))), partitions=1)
    rows = data.draw(inputs(1))
    batches = [*data.draw(cut(rows, may_force=False, may_end=False)), Batch((), 10_000, is_end=True)]
    engine, said = _whole_run(query, batches, seed)
    reference = Reference(query)
    expected = [emission for row in rows for emission in reference.take(Batch((row,), 0))]
    expected.extend(reference.take(Batch((), 10_000, is_end=True)))
    assert Counter(said) == Counter(expected), f"{set(said) - set(expected)} instead of {set(expected) - set(said)}"
    assert Counter(map(_bare, engine.rejected)) == Counter(map(_bare, reference.rejected))


@QUICK
@given(runs(), SEEDS)
def test_a_replay_of_the_inputs_gives_the_same_state(run: tuple[Query, list[Batch]], seed: int) -> None:
    engine, _ = _whole_run(*run, seed)
    state: Tables = {}
    for rows, tick in engine.inputs:
        # Shuffled again: what comes back from the executors has no order to rely on.
        again = None if rows is None else rows.sample(fraction=1.0, shuffle=True, seed=seed)
        state = step_of(run[0]).step(state, again, tick).state
    assert _contents(state) == _contents(engine.state)


def _contents(state: Tables) -> dict[str, Any]:
    return {name: Counter(table.select(sorted(table.columns)).rows()) for name, table in state.items()}


@QUICK
@given(runs("final"), SEEDS)
def test_nothing_disappears(run: tuple[Query, list[Batch]], seed: int) -> None:
    """Windows that do not overlap: every row is in the last emission of one of them, or was rejected."""
    query, batches = run
    if isinstance(query.window, FixedWindow):
        query = replace(query, window=replace(query.window, size=query.window.advance, is_cumulative=False))
    if isinstance(query.window, SessionWindow):
        # A corrected session may have other bounds than before: its last emission could not be told.
        query = replace(query, lateness=0)
    batches = [replace(batch, is_end=False) for batch in batches]
    engine, said = _whole_run(query, [*batches, Batch((), 100_000, is_end=True)], seed)
    rows_in = sum(len(batch.rows) for batch in batches)
    if isinstance(query.window, FixedWindow):
        aggregated = sum({(e.key, e.start): e.rows for e in said}.values())
    else:
        aggregated = sum(e.rows for e in said)
    assert aggregated + len(engine.rejected) == rows_in
    assert not engine.state, "the end lets everything go"


def test_late_rows_of_one_batch_are_counted_apart() -> None:
    """Equal rows are equal dead letters, not one."""
    query = Query(SessionWindow(5))
    rows = Row("a", 1, 0), Row("a", 1, 0)
    engine, _ = _whole_run(query, [Batch((Row("b", 1, 100),), 0), Batch(rows, 0)], 0)
    assert engine.rejected == list(rows)


def test_a_late_row_counted_into_the_next_window_corrects_no_other() -> None:
    query = Query(FixedWindow(10, 5), lateness=4, late="include")
    first = Batch((Row("a", 1, 3), Row("a", 1, 7)), 0)
    batches = [first, Batch((Row("b", 1, 12),), 0), Batch((Row("a", 100, -20),), 0), Batch((), 1, is_end=True)]
    check_against_reference(query, batches, 0)


def test_a_row_in_time_beside_a_late_one_begins_a_session_of_its_own() -> None:
    """By the limit, both would be in one session that is over: only the late row is gone."""
    batches = [Batch((Row("b", 1, 40),), 0), Batch((Row("a", 1, 35), Row("a", 1, 36)), 0), Batch((), 1, is_end=True)]
    engine, said = _whole_run(Query(SessionWindow(5, 5)), batches, 0)
    assert engine.rejected == [Row("a", 1, 35)]
    assert [(one.start, one.end, one.rows) for one in said if one.key == "a"] == [(36, 41, 1)]


@pytest.mark.parametrize("mode", ["final", "per_batch", "trigger"])
def test_a_row_that_may_still_come_begins_a_session_of_its_own_beside_one_that_may_not(mode: Mode) -> None:
    """25 has been too late for good for a while, 28 is just late enough to correct its session."""
    query = Query(SessionWindow(3, 4), mode=mode, lateness=10)
    check_against_reference(query, [Batch((Row("a", 1, 40),), 0), Batch((Row("a", 1, 25), Row("a", 1, 28)), 0)], 0)


def test_an_earlier_row_cuts_an_open_session_anew() -> None:
    rows = [Row("a", 1, at) for at in (12, 8, 4, 0)]
    batches = [*(Batch((row,), 0) for row in rows), Batch((), 1, is_end=True)]
    _, said = _whole_run(Query(SessionWindow(5, 10), delay=60), batches, 0)
    assert [(one.start, one.end, one.rows) for one in said] == [(0, 10, 3), (12, 17, 1)]


@pytest.mark.parametrize("mode", MODES)
def test_a_session_that_closed_is_not_cut_anew(mode: Mode) -> None:
    """4 and 8 were shown as a session. That 0 comes late does not take them apart: it has a session of its own."""
    rows = [Row("a", 1, 4), Row("a", 1, 13), Row("b", 1, 30), Row("a", 1, 0)]
    check_against_reference(Query(SessionWindow(9, 10), mode=mode, lateness=25), [Batch((row,), 0) for row in rows], 0)
