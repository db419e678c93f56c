"""The classes of change, from the one that touches nothing to the one that makes another query of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ChangeClass(Enum):
    """The letter that is printed, and what it stands for."""

    SAME = "A"
    AFTER_STATE = "B"
    CLOCK = "C"
    RESHAPED = "D"
    INPUT = "E"
    SHAPE = "F"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]

    @property
    def is_safe(self) -> bool:
        """Whether nothing has to be decided: every window that opens from now on is as if the new query had always run."""
        return self.value <= "C"


_MEANINGS = {
    ChangeClass.SAME: "the same query",
    ChangeClass.AFTER_STATE: "after the state: only what is made of it",
    ChangeClass.CLOCK: "the clock: when windows close and emit",
    ChangeClass.RESHAPED: "another shape of the state, whose columns are found by what they mean",
    ChangeClass.INPUT: "another meaning of what goes into the state",
    ChangeClass.SHAPE: "another kind of state",
}


@dataclass(frozen=True)
class Change:
    """One difference. ``statement`` is the stage as a user knows it; ``state`` says what becomes of what is kept.

    ``refused`` says why the state cannot be carried over; empty where it can.
    """

    statement: str
    what: str
    klass: ChangeClass
    reason: str
    state: str
    refused: str = ""
    # The path in the plan's JSON, and both values.
    path: str = ""
    before: object = None
    after: object = None
    # The call of an aggregate that is new.
    added_call: str | None = None
    # Whether it is made by a cut: windows before it are of the old text, those from then on of the new.
    is_cut: bool = False
    # Whether it is made in windows that are open, so that they hold rows of both texts.
    is_mixed: bool = False
    # Whether rows would come from somewhere else, so that nothing that was read can be read again.
    reads_elsewhere: bool = False
    # What becomes of open windows and groups then, where it is more than that.
    if_mixed: str = ""
    # Whether it is a function of the user's own that is another: what it did before is not kept, so no window can finish by it.
    of_function: bool = False
