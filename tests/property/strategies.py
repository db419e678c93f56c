"""Random queries and random inputs that fit them. Times are small whole numbers: the steps do not know what a unit is."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.property.reference import Batch, CountWindow, FixedWindow, Late, Mode, Query, Row, SessionWindow

ALL_MODES: tuple[Mode, ...] = ("final", "changes", "per_batch", "trigger")
LATE: tuple[Late, ...] = ("dead_letter", "drop", "include")
Window = FixedWindow | SessionWindow | CountWindow | None
KEYS = st.sampled_from(["a", "b", "c", None])


@st.composite
def fixed_windows(draw: st.DrawFn) -> FixedWindow:
    advance = draw(st.integers(1, 12))
    # Tumbling, sliding by a divisor, and sizes that the advance does not divide.
    size = advance if draw(st.booleans()) else draw(st.integers(advance, 4 * advance))
    return FixedWindow(size, advance, draw(st.integers(0, advance - 1)))


@st.composite
def cumulative_windows(draw: st.DrawFn) -> FixedWindow:
    step, steps = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    return FixedWindow(step * steps, step, draw(st.integers(0, step * steps - 1)), is_cumulative=True)


@st.composite
def session_windows(draw: st.DrawFn) -> SessionWindow:
    gap = draw(st.integers(1, 12))
    return SessionWindow(gap, draw(st.none() | st.integers(1, 4 * gap)))


@st.composite
def queries(draw: st.DrawFn, *modes: Mode) -> Query:
    mode = draw(st.sampled_from(modes or ALL_MODES))
    kinds: list[st.SearchStrategy[Window]] = [fixed_windows(), fixed_windows(), cumulative_windows(), session_windows(), session_windows()]
    kinds.append(st.builds(CountWindow, st.integers(1, 4)))
    if mode != "trigger":
        kinds.append(st.none())
    window = draw(st.one_of(kinds))
    late: Late = draw(st.sampled_from(LATE))
    lateness = draw(st.sampled_from([0, 0, 3, 10, 25]))
    return Query(
        window,
        mode,
        is_grouped=draw(st.sampled_from([True, True, False])),
        delay=draw(st.sampled_from([0, 0, 4, 15])),
        lateness=lateness,
        late=late,
        partitions=draw(st.integers(1, 3)),
        idle_timeout=draw(st.none() | st.integers(1, 30)),
        every_records=draw(st.none() | st.integers(1, 4)),
        when=draw(st.booleans()),
        interval=draw(st.none() | st.integers(1, 20)),
        on_watermark=draw(st.sampled_from([True, True, False])),
    )


@st.composite
def inputs(draw: st.DrawFn, partitions: int, *, is_in_order: bool = False) -> list[Row]:
    """Rows in arrival order whose times wander forward, with steps back unless they are to be in order."""
    at = draw(st.integers(-60, 60))
    rows = []
    for _ in range(draw(st.integers(0, 30))):
        # Strictly in order: a row at the very time the clock has reached is a tie, and a session of one gap may have closed on it.
        at += draw(st.integers(1, 9) if is_in_order else st.integers(-3, 9))
        back = 0 if is_in_order else draw(st.sampled_from([0, 0, 0, 5, 12, 40]))
        value = draw(st.none() | st.integers(-9, 9))
        rows.append(Row(draw(KEYS), value, at - back, draw(st.integers(0, partitions - 1)), draw(st.sampled_from([False, False, True]))))
    return rows


@st.composite
def cut(draw: st.DrawFn, rows: list[Row], *, may_force: bool = True, may_end: bool = True) -> list[Batch]:
    """The rows as micro-batches, with empty ones between, arrival times, and perhaps an end."""
    now, batches, left = draw(st.integers(0, 1000)), [], list(rows)
    while left or draw(st.sampled_from([True, False, False])):
        size = draw(st.sampled_from([0, 1, 1, 2, 3, 8]))
        forced = draw(st.sampled_from([None, None, None, None, 0, 40])) if may_force else None
        batches.append(Batch(tuple(left[:size]), now, forced=forced))
        left = left[size:]
        now += draw(st.sampled_from([0, 1, 5, 20]))
    if may_end and draw(st.booleans()):
        batches.append(Batch((), now, is_end=True))
    return batches


@st.composite
def runs(draw: st.DrawFn, *modes: Mode) -> tuple[Query, list[Batch]]:
    query = draw(queries(*modes))
    batches = draw(cut(draw(inputs(query.partitions))))
    if batches and draw(st.sampled_from([False, False, True])):
        # The end may also come together with rows.
        batches[-1] = Batch(batches[-1].rows, batches[-1].now, is_end=True)
    return query, batches
