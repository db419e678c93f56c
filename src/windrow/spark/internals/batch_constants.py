"""Constants of one batch in a query that is the same for all batches: marked in its text, and found again by the mark."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Goes before a constant of one batch: a comment to Spark, and a mark by which the constant is found again.
BATCH_CONSTANT = "/*\x00*/"
_CONSTANT = re.compile(re.escape(BATCH_CONSTANT) + r"(-?\d+)")


def template_of(text: str) -> tuple[str, list[int]]:
    """A text without the constants of its batch, and these in order.

    >>> template_of(f"get(array({BATCH_CONSTANT}17L), i) + 4")[1]
    [17]
    """
    return _CONSTANT.sub(BATCH_CONSTANT, text), [int(value) for value in _CONSTANT.findall(text)]


def filled(template: str, values: Sequence[int]) -> str:
    """
    >>> filled(template_of(f"a + {BATCH_CONSTANT}17")[0], [4]).replace(BATCH_CONSTANT, "")
    'a + 4'
    """
    pieces = template.split(BATCH_CONSTANT)
    return pieces[0] + "".join(f"{BATCH_CONSTANT}{value}{piece}" for value, piece in zip(values, pieces[1:], strict=True))
