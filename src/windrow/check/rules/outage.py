"""WR826, WR827: options about an output that is away go together, and the output that takes its rows is there."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.check.option_lists import OptionList, option_lists
from windrow.connectors.outage_options import FAILOVER, FAILOVER_TO, POLICY, READ_BY, SPILL, SPILL_BYTES, WAIT, WRITE_TIMEOUT
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec
from windrow.errors import Diagnostic
from windrow.model.options import Option
from windrow.sql import parse_duration

_RETRIES, _FAILURES = "retry.timeout", "failure.policy"


def outage(context: Context) -> Iterator[Diagnostic]:
    outputs = {listed.owner.strip('"').lower(): listed for listed in option_lists(context) if listed.is_sink}
    for listed in option_lists(context):
        if not listed.is_sink or listed.spec(POLICY.key) is None:
            continue
        stated = listed.find(POLICY.key)
        policy = WAIT if stated is None else stated.value.lower()
        if policy not in POLICY.choices:
            continue  # WR261 says so
        yield from _judge_keys(listed, policy)
        yield from _judge_numbers(listed)
        if policy != WAIT:
            yield from _judge_failures(listed, policy)
        if policy == FAILOVER:
            assert stated is not None
            yield from _judge_other(listed, stated, outputs)


def _judge_keys(listed: OptionList, policy: str) -> Iterator[Diagnostic]:
    """A key that nothing reads is a mistake about another one."""
    for key, policies in READ_BY.items():
        entry = listed.find(key)
        if entry is not None and policy not in policies:
            message = f"\"{key}\" means nothing while '{POLICY.key}' is '{policy}'"
            yield Diagnostic("WR826", message, entry.span, f"add '{POLICY.key}' = '{policies[0]}', or leave '{key}' out")


def _judge_numbers(listed: OptionList) -> Iterator[Diagnostic]:
    entry = listed.find(SPILL_BYTES.key)
    if entry is not None and entry.value.strip().isdecimal() and int(entry.value) == 0:
        yield Diagnostic("WR826", f'"{SPILL_BYTES.key}" must be above 0', entry.value_span or entry.span, f"write {SPILL_BYTES.shown}")
    entry = listed.find(WRITE_TIMEOUT.key)
    if entry is not None and parse_duration(entry.value) == 0:
        yield Diagnostic("WR826", f'"{WRITE_TIMEOUT.key}" must be above 0', entry.value_span or entry.span, f"write {WRITE_TIMEOUT.shown}")


def _judge_failures(listed: OptionList, policy: str) -> Iterator[Diagnostic]:
    retries = listed.find(_RETRIES)
    if retries is not None:
        ours = "halt.after" if policy == "halt" else WRITE_TIMEOUT.key
        message = f"\"{_RETRIES}\" means nothing while '{POLICY.key}' is '{policy}': '{ours}' says how long is waited"
        yield Diagnostic("WR826", message, retries.span, f"write '{ours}' = '{retries.value}'")
    failures = listed.find(_FAILURES)
    if failures is None:
        return
    if failures.value.lower() == "fail":
        message = f"'{_FAILURES}' = 'fail' stops the job at the first failure, so '{POLICY.key}' = '{policy}' never comes to it"
        yield Diagnostic("WR826", message, failures.span, f"leave '{_FAILURES}' out, or '{POLICY.key}'")
    elif failures.value.lower() == "dead_letter" and policy == SPILL:
        message = f"rows that are refused when they are delivered later cannot be dead letters of their batch: '{POLICY.key}' = '{SPILL}'"
        yield Diagnostic("WR826", message, failures.span, f"leave '{_FAILURES}' out: the job stops at such a row, and nothing is lost")


def _judge_other(listed: OptionList, stated: Option, outputs: dict[str, OptionList]) -> Iterator[Diagnostic]:
    entry = listed.find(FAILOVER_TO.key)
    others = [name for name, each in outputs.items() if each is not listed and each.owner != listed.owner and _takes_rows(each)]
    if entry is None:
        hint = f"add '{FAILOVER_TO.key}' = '{others[0] if others else FAILOVER_TO.example}'"
        yield Diagnostic("WR827", f"'{POLICY.key}' = '{FAILOVER}' does not say where rows go meanwhile", stated.span, hint)
        return
    if entry.value.lower() in others:
        return
    found = outputs.get(entry.value.lower())
    spec = None if found is None else _connector(found)
    if found is None:
        message = f'"{entry.value}" is no output of this file'
        similar = closest(entry.value, others)
        hint = f"did you mean '{similar[0]}'?" if similar else "name a stream of this file that has a connector of its own"
    elif found.owner == listed.owner:
        message, hint = f'"{entry.value}" cannot take its own rows', "name another stream of this file that has a connector"
    elif spec is None:
        return  # WR263 says so
    else:
        message = f'"{entry.value}" {spec.why_alone}'
        hint = "name a stream that is written to a system outside, such as another topic"
    yield Diagnostic("WR827", message, entry.value_span or entry.span, hint)


def _takes_rows(listed: OptionList) -> bool:
    spec = _connector(listed)
    return spec is not None and spec.why_alone is None


def _connector(listed: OptionList) -> ConnectorSpec | None:
    named = listed.find("connector")
    return None if named is None else CONNECTORS.get(named.value.lower())
