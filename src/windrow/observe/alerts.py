"""From what holds now to what alerts are: pending, firing, resolved. A pure step, one for each look at a job."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

PENDING, FIRING, RESOLVED = "pending", "firing", "resolved"
# Of a rule that does not hold.
QUIET = "quiet"


@dataclass(frozen=True)
class Alert:
    """One time that a rule held. ``since`` is when it began to hold, ``changed_at`` when it came into the state that it is in.

    ``value`` is what the condition gave when that was written down last.
    """

    id: str
    rule: str
    labels: dict[str, str]
    level: str
    summary: str
    state: str
    value: float | None
    since: int
    changed_at: int
    acknowledged_by: str
    job: str
    what_to_do: str


@dataclass(frozen=True)
class Held:
    """A rule that holds for some labels. ``hold`` is for how many seconds it must, until somebody is told."""

    rule: str
    level: str
    labels: dict[str, str]
    value: float
    hold: float
    summary: str
    what_to_do: str


@dataclass(frozen=True)
class Step:
    """``put`` are alerts in a state that they were not in, ``dropped`` those that ended before they fired."""

    put: tuple[Alert, ...] = ()
    dropped: tuple[Alert, ...] = ()


def key_of(rule: str, level: str, labels: dict[str, str]) -> str:
    """What makes two the same alert: the text of one may change with its value."""
    return json.dumps([rule, level, sorted(labels.items())])


def next_states(known: Sequence[Alert], held: Sequence[Held], job: str, now: int, unknown: frozenset[str] = frozenset()) -> Step:
    """``known`` are those of the job that are not over; of rules that are ``unknown`` nothing can be said yet, so theirs stay."""
    left = {key_of(one.rule, one.level, one.labels): one for one in known}
    put: list[Alert] = []
    for one in {key_of(one.rule, one.level, one.labels): one for one in held}.values():
        before = left.pop(key_of(one.rule, one.level, one.labels), None)
        if before is None:
            before = _begun(one, job, now)
            put.append(before)
        if before.state == PENDING and now - before.since >= one.hold * 1000:
            put = [each for each in put if each is not before]
            put.append(replace(before, state=FIRING, changed_at=now, value=one.value, summary=one.summary))
    over = [one for one in left.values() if one.rule not in unknown]
    put += [replace(one, state=RESOLVED, changed_at=now) for one in over if one.state == FIRING]
    return Step(tuple(put), tuple(one for one in over if one.state == PENDING))


def _begun(held: Held, job: str, now: int) -> Alert:
    key = f"{job} {key_of(held.rule, held.level, held.labels)} {now}"
    id_ = hashlib.sha256(key.encode()).hexdigest()[:16]
    return Alert(id_, held.rule, held.labels, held.level, held.summary, PENDING, held.value, now, now, "", job, held.what_to_do)


@dataclass(frozen=True)
class RuleState:
    """How a rule stands for one job: quiet, pending or firing, since when (in milliseconds; None if it never changed).

    ``value`` is what its condition gave when it came into that state.
    """

    rule: str
    level: str
    summary: str
    state: str = QUIET
    since: int | None = None
    value: float | None = None

    def now(self, alert: Alert | None, resolved_at: int | None) -> RuleState:
        """After a look: ``alert`` is there while the rule holds, ``resolved_at`` tells that it has just ceased to."""
        if alert is not None:
            return replace(self, state=alert.state, since=alert.changed_at, value=alert.value, summary=alert.summary)
        if self.state == QUIET:
            return self
        return replace(self, state=QUIET, since=resolved_at if resolved_at is not None else self.since, value=None)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RuleState:
        return RuleState(data["rule"], data["level"], data["summary"], data["state"], data["since"], data["value"])
