"""The rules of a deployment as somebody wants to have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from windrow.observe.alert_rules import AlertRule
from windrow.server.alert_book import RuleChange


def changed(rules: Iterable[AlertRule], changes: Mapping[str, RuleChange]) -> tuple[AlertRule, ...]:
    """The rules that are on, as somebody wants to have them."""
    return tuple(_changed(rule, changes.get(rule.name)) for rule in rules if rule.name not in changes or changes[rule.name].is_on)


def _changed(rule: AlertRule, change: RuleChange | None) -> AlertRule:
    if change is None:
        return rule
    hold = rule.hold if change.hold_seconds is None else float(change.hold_seconds)
    return replace(rule, hold=hold, level=change.level or rule.level)
