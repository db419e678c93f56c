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
    """What to do about changes that the state cannot simply follow: cut over at a window boundary or refuse; mix rows of both texts; make
    the state anew from the sources, or that after what both texts give is compared.
    """

    SAFE = "cut"
    MIX = "mix"
    REBUILD = "rebuild"
    BLUE_GREEN = "blue-green"

    @property
    def builds(self) -> bool:
        """Whether the state is made anew from the sources."""
        return self in (Strategy.REBUILD, Strategy.BLUE_GREEN)

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


_ANEW = "made anew from the sources, as if the new text had always run; what was written stays"


def rebuilt(changes: Sequence[Change]) -> list[Change]:
    """The changes, where the new text reads again all that was read: it must be the same sources."""
    return [each if each.reads_elsewhere else replace(each, refused="", state=_ANEW, added_call=None) for each in changes]


def why_not_rebuilt(old: Job, new: Job) -> list[str]:
    """What reading again would not give."""
    if [read.name for read in old.reads] != [read.name for read in new.reads]:
        return ["the sources are others, so what was read before is no input of the new text"]
    timed = [stage.name for stage in new.stages if isinstance(stage, Aggregate) and stage.time.on_arrival]
    return [f"windows of {timed[0]} go by the time of arrival, which is another when rows are read again"] if timed else []
