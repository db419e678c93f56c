"""What a change does to the state of a job, as text and as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.jobs.rehearsal import Rehearsal, RowPair

_NOTHING, _SAFE, _DECIDE = 0, 3, 4
Record = Mapping[str, Any]


def exit_of(record: Record) -> int:
    """Of a job without a batch nothing is kept, so nothing is to be decided."""
    from windrow.changes import ChangeClass

    if not record["changes"] or record["batch"] < 0:
        return _NOTHING
    return _SAFE if ChangeClass(record["class"]).is_safe and record["can_apply"] else _DECIDE


def text_of(record: Record, *, can_mix: bool = False, can_build: bool = False) -> str:
    """What ``review_record`` tells, for people. ``can_mix``: what is refused as it is could be made with rows of both texts;
    ``can_build``: with a state that is made anew.
    """
    head = f"job {record['job']}, version {record['version']}, after batch {record['batch']}"
    if not record["changes"]:
        return "\n".join([f"{head}: nothing has changed that its state depends on", *_unfinished(record)])
    if record["batch"] < 0:
        return f"job {record['job']} has not come to its first batch: nothing is kept of it yet, and windrow run takes the new text"
    lines = [head]
    for title in dict.fromkeys(change["statement"] for change in record["changes"]):
        lines.append(f"\n  {title}")
        for change in record["changes"]:
            if change["statement"] == title:
                lines += [
                    f"    {change['class']}  {change['what']}",
                    f"       why    {change['reason']}",
                    f"       state  {change['state']}",
                ]
                lines += [f"       no     {change['refused']}"] if change["refused"] else []
    lines += ["", *_outcome(record, can_mix, can_build)]
    return "\n".join(lines)


def _unfinished(record: Record) -> list[str]:
    """What is still under way of the change before."""
    lines = []
    if (closing := record["closing"]) is not None:
        at, until = _time(closing["at_us"]), _time(closing["done_at_us"])
        version = closing["earlier_version"]
        lines.append(f"   windows that start before {at} UTC are of version {version}; they are done when the watermark reaches {until}")
    if not record["is_final"]:
        lines.append("   it was not seen to work yet: windrow apply watches it, windrow rollback goes back")
    return lines


def _outcome(record: Record, can_mix: bool, can_build: bool) -> list[str]:
    from windrow.changes import ChangeClass

    held = ", ".join(f"{count:,} of {name}" for name, count in record["open_windows"].items() if count) or "none"
    lines = [f"  class    {record['class']}, {ChangeClass(record['class']).meaning}", f"  open     windows and groups: {held}"]
    if not record["can_apply"]:
        told = {change["refused"] for change in record["changes"] if change["refused"]}
        others = [each for each in record["obstacles"] if not any(each.endswith(refused[1:]) for refused in told)]
        lines += [f"  no       {each}" for each in others]
        mix = ["           or --strategy mix: windows and groups that are open will hold rows of both texts"] if can_mix else []
        mix += ["           or --strategy rebuild: the state is made anew from the sources, beside the job"] if can_build else []
        rows = f"{record['rows_read_so_far']:,} rows so far"
        return [*lines, "  apply    refused: nothing is touched. Ways out: undo the change; or run the new text with a new --state",
                f"           folder and outputs of its own: it reads its sources from the beginning ({rows})", *mix]  # fmt: skip
    lines += _cut(record)
    again = record["rows_read_again"]
    sources = "nothing is read again" if not again else f"before that, all {again:,} rows are read again, as one batch, beside the job"
    lines += [
        f"  sources  go on where they were read up to; {sources}",
        "  outputs  what was written stays; rows of later batches are as the new text says",
        "  back     windrow rollback takes it back to this batch: the rows read since are read again, by the old text",
    ]
    lines += [f"           but {each}" for each in record["what_stays"]]
    seconds = max(record["load_seconds"], 0.1)
    return [
        *lines,
        f"  apply    stops the job at the end of a batch, if it runs; the state took {seconds:.1f} s to load, and takes as long to write",
        "           then the new version is watched for three batches; should it fail, this version comes back",
    ]


def _cut(record: Record) -> list[str]:
    cut = record["cut"]
    if cut is None:
        return []
    names, version = " and ".join(cut["statements"]), cut["earlier_version"]
    reached = "has not moved yet" if cut["watermark_us"] is None else f"stands at {_time(cut['watermark_us'])}"
    return [
        f"  cut      at {_time(cut['at_us'])} UTC, the first time above every event time seen at which windows of both texts start:",
        f"           windows of {names} that start before stay with version {version}, late rows and corrections included,",
        "           those that start from then on are of the new text; each row is counted once",
        f"           the watermark {reached}; version {version} is done when it reaches {_time(cut['done_at_us'])},",
        "           and until then no other change can be applied",
    ]


def _time(micros: int) -> str:
    from windrow.jobs.switching import shown_time

    return shown_time(micros)


_MOST_SHOWN = 40


def rehearsal_text(rehearsal: Rehearsal) -> str:
    first, last = rehearsal.first, rehearsal.last
    only = [sum(pair.old is None for pair in rehearsal.differences), sum(pair.new is None for pair in rehearsal.differences)]
    changed = len(rehearsal.differences) - sum(only)
    lines = [
        f"job {rehearsal.job}: both texts over the rows of batches {first} to {last}, taken as one batch; nothing was written",
        f"  {rehearsal.same:,} rows are the same, {changed:,} differ, {only[1]:,} are of the old text alone, {only[0]:,} of the new alone",
    ]
    if rehearsal.review.cut is not None:
        lines.append(f"  here the cut was at {_time(rehearsal.review.cut.at)} UTC: the state is that of before these rows")
    lines += [
        f"  function {name} is another now, and both texts ran with it: what it did before is not kept" for name in rehearsal.functions
    ]
    if rehearsal.dropped:
        lines.append(f"  the {rehearsal.dropped:,} oldest rows were too many to keep and are not compared: choose fewer --batches")
    lines += [line for pair in rehearsal.differences[:_MOST_SHOWN] for line in _pair_text(pair)]
    more = len(rehearsal.differences) - _MOST_SHOWN
    return "\n".join([*lines, *([f"  ... and {more:,} more; --format json has them all"] if more > 0 else [])])


def _pair_text(pair: RowPair) -> list[str]:
    of = " ".join(_identity(pair.of))
    if pair.old is None or pair.new is None:
        sign, row = ("+", pair.new) if pair.old is None else ("-", pair.old)
        return [f"  {sign} {pair.statement} {of}  {_values(row or {})}"]
    names = [name for name in dict.fromkeys([*pair.old, *pair.new]) if pair.old.get(name) != pair.new.get(name)]
    told = ", ".join(f"{name} {_value(pair.old.get(name))} -> {_value(pair.new.get(name))}" for name in names)
    return [f"  ~ {pair.statement} {of}  {told}"]


def _identity(of: Mapping[str, Any]) -> list[str]:
    """Windows that emit once need no word of it."""
    told = [str(value) for name, value in of.items() if name not in ("_emission", "_revision")]
    is_plain = (of.get("_emission", "final"), of.get("_revision", 1)) == ("final", 1)
    return told if is_plain else [*told, f"({of['_emission']}, revision {of['_revision']})"]


def _values(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in row.items())


def _value(value: object) -> str:
    return "NULL" if value is None else str(value)


def rehearsal_record(rehearsal: Rehearsal | None) -> dict[str, Any] | None:
    if rehearsal is None:
        return None
    return {
        "first_batch": rehearsal.first,
        "last_batch": rehearsal.last,
        "same": rehearsal.same,
        "not_compared": rehearsal.dropped,
        "other_functions": list(rehearsal.functions),
        "differences": [
            {"statement": pair.statement, "of": _plain(pair.of), "old": _plain(pair.old), "new": _plain(pair.new)}
            for pair in rehearsal.differences
        ],
    }


def _plain(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {name: value if isinstance(value, str | int | float | bool | None) else str(value) for name, value in row.items()}
