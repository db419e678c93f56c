"""Links of spans as rows. A link has no time of its own: it counts when its span does, so windows of links are made from those of spans."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from windrow.otap.covers import Cover
from windrow.otap.layout import Base
from windrow.otap.windows import EVENT_TIME, PLACED, RESOURCE_ATTRIBUTES, SCOPE_ATTRIBUTES, Reading, Seen, WindowReader

SPANS, LINKS = "spans", "span_links"
# What a link takes over from its span: its name for it, and its name there.
_FROM_SPAN = {
    "from_trace_id": "trace_id",
    "from_span_id": "span_id",
    "span_name": "name",
    **{name: name for name in ("resource", RESOURCE_ATTRIBUTES, "scope", SCOPE_ATTRIBUTES, EVENT_TIME, PLACED)},
}


class LinkReader:
    """Reads covers of spans and gives their links."""

    def __init__(self, base: Base, reading: Reading) -> None:
        wanted = {"id", *(theirs for own, theirs in _FROM_SPAN.items() if reading.wants(own))}
        self._spans = WindowReader(base, replace(reading, table=SPANS, columns=frozenset(wanted)))

    @property
    def seen(self) -> Seen:
        return self._spans.seen

    def read(self, cover: Cover) -> pa.Table | None:
        """The links of the spans that fall into the window of a cover, or None where there are none."""
        spans = self._spans.read(cover)
        links = None if spans is None else self._spans.rows_below(LINKS, spans["id"], cover)
        if spans is None or links is None:
            return None
        place = pc.index_in(links["parent_id"].cast(pa.uint32()), spans["id"].cast(pa.uint32()))
        for own, theirs in _FROM_SPAN.items():
            if theirs in spans.column_names:
                links = links.append_column(own, spans[theirs].take(place))
        return links


def reader_for(base: Base, reading: Reading) -> WindowReader | LinkReader:
    return LinkReader(base, reading) if reading.table == LINKS else WindowReader(base, reading)
