"""SET_HEADER and REMOVE_HEADER: a value in the row, and a change to the headers of the row that goes out."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.expr import Call, Cast, Column, Expr, Index, Node, transform
from windrow.model.types import STRING, Map
from windrow.plan.stages import Aggregate, AggregateItem, HeaderChange, Item, Read, Stage, holds_rows

HEADERS = Column("_headers")
LAST_HEADERS = "_a_headers"
# An option of sources: whether rows are in the traces that their headers name.
TRACE_CONTEXT, OFF = "trace.context", "off"
# Headers of a group's last row, none where that has none. Statements that share what they read give it another name.
_NO_HEADERS = Cast(Call("map", ()), Map(STRING, STRING))
LAST_HEADERS_CALL = Call("LAST", (Call("map_entries", (Call("coalesce", (HEADERS, _NO_HEADERS)),)),))


def take_header_changes(items: tuple[Item, ...]) -> tuple[tuple[Item, ...], tuple[HeaderChange, ...]]:
    """The items with each call replaced by the value it gives, and the changes it makes, in the order written."""
    changes: list[HeaderChange] = []

    def change(node: Node) -> Node | None:
        if not isinstance(node, Call):
            return None
        match node.name.upper(), node.args:
            case "SET_HEADER", (key, value):
                inner: Expr = transform(value, change)
                changes.append(HeaderChange(key, inner))
                return inner
            case "REMOVE_HEADER", (key,):
                changes.append(HeaderChange(key, None))
                return Index(HEADERS, key)
            case _:
                return None

    plain = tuple(Item(item.name, None if item.expr is None else transform(item.expr, change)) for item in items)
    return plain, tuple(changes)


def follows_context(read: Read) -> bool:
    """Whether the trace contexts that rows of a source come with are linked to, and handed on."""
    return dict(read.options).get(TRACE_CONTEXT, "").lower() != OFF


def keep_headers(stage: Aggregate) -> Aggregate:
    """An emission has the headers of its group's last row: one more aggregate, where the source has headers at all."""
    last = AggregateItem(LAST_HEADERS, LAST_HEADERS_CALL)
    return replace(stage, aggregates=(*stage.aggregates, last), keeps_headers=True)


def keep_source_headers(members: list[Stage]) -> list[Stage]:
    """Where a source has headers, every group keeps those of its last row."""
    if not any(isinstance(stage, Read) and dict(stage.options).get("headers") == "true" for stage in members):
        return members
    return [keep_headers(stage) if isinstance(stage, Aggregate) and not holds_rows(stage) else stage for stage in members]
