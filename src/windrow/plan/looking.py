"""OVER: which rows a statement must keep to look back at."""

from __future__ import annotations

from windrow.model.expr import Expr, Literal, Node, Over, Slot, Unary, transform
from windrow.plan.stages import Derive, HeaderChange, Item, Look, LookBack

# Functions that look a given number of rows back.
_OFFSETS = {"LAG"}
# How many rows of a partition are kept for a call that orders them itself and names no buffer: a row may be that far out of order.
OUT_OF_ORDER_ROWS = 1000


def plan_look_back(plain: Derive, qualify: Expr | None) -> LookBack:
    """A filter and projection in which OVER stands, as the stage that keeps the rows those calls look at."""
    slots = _OverSlots()
    return LookBack(
        name=plain.name,
        input=plain.input,
        where=plain.where,
        items=tuple(Item(item.name, None if item.expr is None else slots.fill(item.expr)) for item in plain.items),
        qualify=None if qualify is None else slots.fill(qualify),
        key=None if plain.key is None else slots.fill(plain.key),
        headers=tuple(HeaderChange(slots.fill(c.key), None if c.value is None else slots.fill(c.value)) for c in plain.headers),
        looks=slots.looks(),
        is_strict=plain.is_strict,
        order_by=plain.order_by,
        limit=plain.limit,
        reason=_reason(slots.looks()),
    )


def _reason(looks: tuple[Look, ...]) -> str:
    if any(look.buffer is None for look in looks):
        return "a frame without a beginning: every row of a partition is kept; ROWS WINDOW BUFFER n ROWS would bound it"
    return f"the last {max(look.buffer or 0 for look in looks)} rows of each partition are kept"


class _OverSlots:
    """Collects OVER calls and puts slots in their place, grouped by the rows they look at."""

    def __init__(self) -> None:
        self._slots: dict[Over, Slot] = {}

    def fill(self, node: Node) -> Expr:
        return transform(node, self._change)  # type: ignore[return-value]  # an expression stays one

    def _change(self, node: Node) -> Node | None:
        if not isinstance(node, Over):
            return None
        return self._slots.setdefault(node, Slot(f"_o{len(self._slots)}"))

    def looks(self) -> tuple[Look, ...]:
        groups: dict[tuple[tuple[Expr, ...], int | None], list[tuple[str, Over]]] = {}
        for over, slot in self._slots.items():
            groups.setdefault((over.spec.partition_by, rows_needed(over)), []).append((slot.name, over))
        return tuple(Look(keys, buffer, tuple(calls)) for (keys, buffer), calls in groups.items())


def rows_needed(over: Over) -> int | None:
    """How many rows of its partition, the row itself included, a call can ever see; None where there is no bound."""
    if over.spec.buffer is not None:
        return over.spec.buffer
    needed = _rows_named(over)
    if needed is None:
        return None
    # With an order of its own, a row that arrives out of order looks further back than its place in the arrival says.
    return max(needed, OUT_OF_ORDER_ROWS) if over.spec.order_by else needed


def _rows_named(over: Over) -> int | None:
    frame = over.spec.frame
    if over.call.name.upper() in _OFFSETS:
        return 1 + (_whole_number(over.call.args[1]) if len(over.call.args) > 1 else 1)
    if frame is not None and not frame.is_range and frame.start is not None:
        return 1 - min(frame.start, 0)
    return None


def _whole_number(expr: Expr) -> int:
    match expr:
        case Literal(value=int(value)):
            return value
        case Unary(op="-", operand=Literal(value=int(value))):
            return -value
        case _:
            return 1
