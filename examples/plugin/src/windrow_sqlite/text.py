"""SLUG: text as part of an address."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.catalog.python_functions import ScalarFunction


def slug(text: pa.Array) -> pa.Array:
    words = pc.replace_substring_regex(pc.utf8_lower(text), "[^a-z0-9]+", "-")
    return pc.utf8_trim(words, "-")


SLUG = ScalarFunction(
    target="windrow_sqlite.text:slug", parameters=(("text", "STRING"),), returns="STRING", doc="lower-case words with - between them"
)
