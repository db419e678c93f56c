"""Changes that are made in the midst of open windows and groups, because somebody asks for it: these will hold rows of both texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from windrow.changes.classes import Change, ChangeClass
from windrow.changes.cutting import addable, judged, titles_of
from windrow.errors import UsageError
from windrow.plan.stages import Aggregate, Job, LoadTable, Read

_KEPT = "kept as it is: windows and groups that are open will hold rows of both texts"
_FROM_NOW = "NULL where no row has come since; then it counts the rows from the switch on, also in groups that are older"


class Strategy(Enum):
    """What to do about changes that the state cannot simply follow: cut over at a window boundary or refuse, or mix rows of both texts."""

    SAFE = "cut"
    MIX = "mix"

    @staticmethod
    def of(name: str) -> Strategy:
        known = {each.value: each for each in Strategy}
        if name not in known:
            raise UsageError("WR677", f'there is no strategy "{name}"', f"there are: {', '.join(known)}")
        return known[name]


def mixed(old: Job, new: Job, changes: Sequence[Change]) -> list[Change]:
    """The changes, of which those that leave the form of the state as it is are no longer refused."""
    titles = titles_of(old, new)
    found = []
    for change in (judged(each, titles) for each in changes):
        stage = titles.get(change.statement)
        if not change.refused or isinstance(stage, Read | LoadTable) or stage is None:
            found.append(change)
        elif change.klass is ChangeClass.INPUT:
            found.append(replace(change, refused="", state=change.if_mixed or _KEPT, is_mixed=True))
        elif change.klass is ChangeClass.RESHAPED and isinstance(stage, Aggregate) and stage.window is None and addable(change, stage):
            found.append(replace(change, refused="", state=_FROM_NOW, is_mixed=True))
        else:
            found.append(replace(change, refused=f"{change.refused}. To mix is no way out: the state would need another form"))
    return found
