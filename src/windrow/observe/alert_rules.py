"""The rules of a job's alerts as they are judged: those of every job and those of its file, as ``windrow ops rules`` writes them for
Prometheus.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from windrow.observe.alerts import Held
from windrow.observe.promql_text import Node, read_promql, seconds_of, selectors
from windrow.observe.promql_values import value_of
from windrow.observe.rules import rule_groups
from windrow.observe.series import SeriesStore
from windrow.plan.stages import Plan

_LABEL = re.compile(r"\{\{ \$labels\.(\w+) \}\}")
# What a rule looks back for more than this is there once the server has run so long; nobody waits a day for an alert to end.
_LONGEST_WAIT = 900.0


@dataclass(frozen=True)
class AlertRule:
    """``hold`` is in seconds; ``own`` says whether it comes from the file's ``@alert``."""

    name: str
    expression: str
    condition: Node
    hold: float
    level: str
    summary: str
    what_to_do: str
    is_own: bool

    @property
    def looks_back(self) -> dict[str, float]:
        """Names of series, and how many seconds back it looks for each."""
        found: dict[str, float] = {}
        for name, back in selectors(self.condition):
            found[name] = max(back, found.get(name, 0.0))
        return found

    def is_known(self, store: SeriesStore, at: float) -> bool:
        """Whether the server has looked long enough to say that the rule does not hold."""
        return store.began is not None and at - store.began >= min(max(self.looks_back.values(), default=0.0), _LONGEST_WAIT)

    def held(self, store: SeriesStore, at: float) -> Iterator[Held]:
        for labels, value in value_of(self.condition, store, at).items():
            told = dict(labels)
            yield Held(self.name, self.level, told, value, self.hold, self.summary_of(told), self.what_to_do)

    def summary_of(self, labels: Mapping[str, str]) -> str:
        """What is wrong, of the series with these labels."""
        return _LABEL.sub(lambda found: labels.get(found[1], ""), self.summary)


def rules_of(plan: Plan, stalled: float) -> tuple[AlertRule, ...]:
    """``stalled`` is how many seconds without a commit are too many."""
    names = [job.name for job in plan.jobs]
    groups = rule_groups(names, [metric for _, metric in plan.metrics], plan.alerts, stalled)["groups"]
    own = {alert.name for alert in plan.alerts}
    return tuple(_rule(told, is_own=told["alert"] in own) for group in groups for told in group["rules"])


def _rule(told: Mapping[str, Mapping[str, str] | str], *, is_own: bool) -> AlertRule:
    notes, labels = told["annotations"], told["labels"]
    assert not isinstance(notes, str)
    assert not isinstance(labels, str)
    text = str(told["expr"])
    return AlertRule(
        str(told["alert"]),
        text,
        read_promql(text),
        seconds_of(str(told["for"])),
        labels["severity"],
        notes["summary"],
        notes.get("description", ""),
        is_own,
    )


def looked_back(rules: Sequence[AlertRule]) -> dict[str, float]:
    """Of all rules together."""
    found: dict[str, float] = {}
    for rule in rules:
        for name, back in rule.looks_back.items():
            found[name] = max(back, found.get(name, 0.0))
    return found
