"""Several values as one key of a record."""

from __future__ import annotations

from windrow.model.expr import Call, Cast, Expr, Literal
from windrow.model.types import STRING


def joined_key(parts: tuple[Expr, ...]) -> Expr:
    """A single value as it is; several with ``|`` between, so that no two keys are spelled the same."""
    return parts[0] if len(parts) == 1 else Call("concat_ws", (Literal("|"), *map(_part, parts)))


def _part(value: Expr) -> Expr:
    r"""NULL is ``\N``, and ``|`` and ``\`` are escaped."""
    escaped: Expr = Cast(value, STRING)
    for letter in ("\\", "|"):
        escaped = Call("replace", (escaped, Literal(letter), Literal(f"\\{letter}")))
    return Call("coalesce", (escaped, Literal(r"\N")))
