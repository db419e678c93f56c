"""Why a call failed, as far as it decides what to do next."""

from __future__ import annotations

from enum import Enum


class FailureClass(Enum):
    # May be over in a moment: a broker that restarts, a connection that broke. Tried again.
    TRANSIENT = "transient"
    # Will fail again just so: wrong password, no such table, not allowed. Shown at once.
    PERMANENT = "permanent"
    # One row is at fault, and others would go through: a value that does not fit its column.
    DATA = "data"
    # The other side has no room: a full disk, too many connections. Tried again, more slowly.
    RESOURCE = "resource"

    @property
    def is_worth_trying_again(self) -> bool:
        return self in (FailureClass.TRANSIENT, FailureClass.RESOURCE)
