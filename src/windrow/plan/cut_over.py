"""A job that goes over from one text to the next at a window boundary: for a while it has the stages of both.

The old stages keep windows that start before the cut, whole, with late rows and corrections; the new ones take those that start from then
on. An old stage is called after the version that it is of, and so is each stage before it that is not the same in the new text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.model.lateness import over_at
from windrow.model.types import UNKNOWN, ColumnDef
from windrow.model.window_kinds import FixedKind
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import essence
from windrow.plan.stages import (
    Aggregate,
    Explode,
    FilterProject,
    Job,
    LoadTable,
    LookupJoin,
    Read,
    Stage,
    SubqueryLookup,
    UnionAll,
)
from windrow.plan.window_cut import WindowCut, overlap

# What can stand twice between a source and a window: it keeps nothing, and sets no row aside.
Copied = FilterProject | Explode | SubqueryLookup | LookupJoin | UnionAll


@dataclass(frozen=True)
class CutOver:
    """``stages`` group in both texts; windows of them that start before ``at`` are of ``version``."""

    at: int
    version: int
    stages: tuple[str, ...]

    def earlier(self, stage: str) -> str:
        """What the stage of the old text is called beside the new one.

        >>> CutOver(0, 3, ("sums",)).earlier("sums")
        'sums/v3'
        """
        return f"{stage}/v{self.version}"


def closed_for_good(job: Job) -> dict[str, int]:
    """Of each stage of both texts, the watermark at which no window that starts before the cut takes a row any more.

    The new text has such windows too, where windows overlap: it knows of them and keeps silent.
    """
    found = {}
    for stage in job.stages:
        if isinstance(stage, Aggregate) and stage.cut is not None:
            assert isinstance(stage.window, FixedKind)
            found[stage.name] = over_at(stage.cut.at + overlap(stage.window), stage.lateness)
    return found


def with_both(old: Job, new: Job, cut: CutOver) -> Job:
    """The new job, with the stages of the old one that finish what they have begun."""
    return _Both(old, new, cut).job()


def uncounted(job: Job) -> tuple[str, ...]:
    """Stages of an old text that only feed its windows: the stages of the new text count the same rows."""
    return tuple(stage.name for stage in of_old_text(job) if isinstance(stage, Copied))


def of_old_text(job: Job) -> tuple[Stage, ...]:
    """The stages that stand beside those of the new text."""
    suffixes = {s.name.removeprefix(s.statement) for s in job.stages if isinstance(s, Aggregate) and s.cut is not None and s.cut.is_before}
    return tuple(s for s in job.stages if isinstance(s, Aggregate | Copied) and s.name.endswith(tuple(suffixes))) if suffixes else ()


def without_old(job: Job) -> Job:
    """The job when the windows of the old text are closed. Its sources still give what both have asked for."""
    old = {stage.name for stage in of_old_text(job)}
    kept = (stage for stage in job.stages if stage.name not in old)
    return replace(job, stages=tuple(replace(each, cut=None) if isinstance(each, Aggregate) else each for each in kept))


def stands_twice(old: Job, new: Job, stages: tuple[str, ...]) -> tuple[Stage, ...]:
    """The stages of the old text that its windows need and the new text does not have as they are."""
    by_name = {stage.name: stage for stage in old.stages}
    before, after = essence(job_to_json(old)), essence(job_to_json(new))
    there = {stage.name: stage.inputs for stage in new.stages}
    found: dict[str, Stage] = {}

    def is_shared(name: str) -> bool:
        stage = by_name[name]
        shared = [is_shared(each) for each in stage.inputs]
        if isinstance(stage, Read):
            return True
        if all(shared) and name not in stages and before[name] == after.get(name) and there[name] == stage.inputs:
            return True
        found[name] = stage
        return False

    for name in stages:
        is_shared(name)
    return tuple(stage for stage in old.stages if stage.name in found)


class _Both:
    def __init__(self, old: Job, new: Job, cut: CutOver) -> None:
        self._old = {stage.name: stage for stage in old.stages}
        self._twice = {stage.name: stage for stage in stands_twice(old, new, cut.stages)}
        # The old text may need ticks of the clock until its windows are closed.
        self._job, self._cut = replace(new, needs_ticks=old.needs_ticks or new.needs_ticks), cut

    def job(self) -> Job:
        stages: list[Stage] = []
        waiting = dict(self._twice)
        for stage in self._job.stages:
            if not isinstance(stage, Aggregate) or stage.name not in self._cut.stages:
                stages.append(self._as_both_read(stage) if isinstance(stage, Read) else stage)
                continue
            # All that the old stage needs stands before it in the old plan.
            for name in list(waiting):
                stages.append(self._renamed(waiting.pop(name)))
                if name == stage.name:
                    break
            added = added_columns(self._old[stage.name], stage, self._job)
            stages.append(replace(stage, cut=WindowCut(self._cut.at, False, stage.name, self._cut.earlier(stage.name), added)))
        return replace(self._job, stages=tuple(stages))

    def _name_of(self, name: str) -> str:
        return self._cut.earlier(name) if name in self._twice and not isinstance(self._twice[name], LoadTable) else name

    def _renamed(self, stage: Stage) -> Stage:
        name = self._name_of(stage.name)
        match stage:
            case LoadTable():
                return stage
            case Aggregate():
                return replace(stage, name=name, input=self._name_of(stage.input), cut=WindowCut(self._cut.at, True, stage.name))
            case FilterProject() | Explode() | SubqueryLookup():
                return replace(stage, name=name, input=self._name_of(stage.input))
            case LookupJoin(stream=stream):
                return replace(stage, name=name, stream=replace(stream, input=self._name_of(stream.input)))
            case UnionAll(parts=parts):
                return replace(stage, name=name, parts=tuple(self._name_of(part) for part in parts))
            case _:
                raise AssertionError(f"a stage that does not stand twice: {stage.name}")

    def _as_both_read(self, read: Read) -> Read:
        """Decoded are the columns that either text asks for."""
        before = self._old[read.name]
        assert isinstance(before, Read)
        if read.projected_columns is None or before.projected_columns is None:
            return replace(read, projected_columns=None)
        return replace(read, projected_columns=tuple(dict.fromkeys((*read.projected_columns, *before.projected_columns))))


def added_columns(before: Stage, after: Aggregate, job: Job) -> tuple[ColumnDef, ...]:
    """What the new text puts out and the old does not, with the types that outputs know; those of no known type are of type UNKNOWN."""
    assert isinstance(before, Aggregate)
    types = {column.name: column for column in output_columns(after, job)}
    had = {item.name for item in before.output.items}
    return tuple(types.get(item.name, ColumnDef(item.name, UNKNOWN)) for item in after.output.items if item.name not in had)


def output_columns(stage: Aggregate, job: Job) -> tuple[ColumnDef, ...]:
    """The columns of a statement as far as its output knows them."""
    return next((write.columns for write in job.writes if write.input == stage.name), ())
