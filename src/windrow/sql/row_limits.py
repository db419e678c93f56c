"""A limit of rows as an option has it: ``100``, ``5%``, either with ``per 10m``."""

from __future__ import annotations

import re
from decimal import Decimal

from windrow.model.row_limits import RowLimit
from windrow.sql.script import parse_duration

_LIMIT = re.compile(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*(%?)\s*(?:\bper\b\s*(.+))?", re.IGNORECASE | re.ASCII)


def parse_row_limit(text: str) -> RowLimit | None:
    """A number of rows or a share of them, in each batch or in a span of time; None if it is neither.

    >>> parse_row_limit("5% per 10m")
    RowLimit(most=Decimal('5'), is_share=True, span=600000000)
    >>> parse_row_limit("100"), parse_row_limit("101%"), parse_row_limit("1.5"), parse_row_limit("few")
    (RowLimit(most=Decimal('100'), is_share=False, span=None), None, None, None)
    """
    found = _LIMIT.fullmatch(text)
    if found is None:
        return None
    most, is_share = Decimal(found[1]), bool(found[2])
    if (is_share and most > 100) or (not is_share and most != most.to_integral_value()):
        return None
    span = None if found[3] is None else parse_duration(found[3])
    return None if found[3] is not None and not span else RowLimit(most, is_share, span)
