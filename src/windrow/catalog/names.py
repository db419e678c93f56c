"""Which known name a user most likely meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_CUTOFF = 0.6
# A name cut short is as good as one with a letter wrong.
_PREFIX = 3
_PREFIX_SCORE = 0.8


def closest(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """The known names most like one, closest first; none where nothing is like it.

    >>> closest("vlume", ["symbol", "price", "volume"])
    ['volume']
    """
    wanted = name.lower()
    scored = [(_likeness(wanted, candidate.lower()), position, candidate) for position, candidate in enumerate(known)]
    scored.sort(key=lambda entry: (-entry[0], entry[1]))
    return [candidate for score, _, candidate in scored if score >= _CUTOFF][:limit]


def _likeness(wanted: str, candidate: str) -> float:
    if len(wanted) >= _PREFIX and candidate.startswith(wanted):
        return _PREFIX_SCORE
    matcher = SequenceMatcher(None, wanted, candidate)
    # The upper bounds are cheap, and most of six hundred function names fall out here.
    if matcher.real_quick_ratio() < _CUTOFF or matcher.quick_ratio() < _CUTOFF:
        return 0.0
    return matcher.ratio()
