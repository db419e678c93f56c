"""Pieces of files in even shares: every byte once, in its order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow.connectors.files.split_balancing import balanced
from windrow.spark.internals.json_scan import Split

LENGTHS = st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(lambda lengths: sum(lengths) >= 8)


@given(LENGTHS, st.integers(1, 8))
def test_every_byte_is_in_one_share(lengths: list[int], shares: int) -> None:
    stretches = [Split(number, 100 * number, length) for number, length in enumerate(lengths)]
    found = list(balanced(stretches, shares))
    assert len(found) == shares
    sizes = [sum(one.length for one in share) for share in found]
    assert max(sizes) - min(sizes) <= 1
    bytes_of = [(piece, at) for share in found for piece, start, length in share for at in range(start, start + length)]
    assert bytes_of == [(piece, at) for piece, start, length in stretches for at in range(start, start + length)]
    assert all(one.length for share in found for one in share)
