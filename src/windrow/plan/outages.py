"""What an output does while its system is away: the options of a WITH list as a rule, and the rule in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow.connectors.outage_options import (
    DROP,
    FAILOVER,
    FAILOVER_TO,
    HALT,
    HALT_AFTER,
    POLICY,
    SPILL,
    SPILL_AGE,
    SPILL_BYTES,
    WAIT,
    WRITE_TIMEOUT,
)
from windrow.connectors.spec import OptionSpec
from windrow.model.options import Options
from windrow.sql import parse_duration
from windrow.sql.durations import show_duration


@dataclass(frozen=True)
class OtherOutput:
    """The output that takes the rows meanwhile. Without a connector it has not been looked up yet."""

    statement: str
    connector: str = ""
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class OutageRule:
    """Lengths of time are microseconds; only what belongs to the policy means anything."""

    policy: str = WAIT
    write_timeout: int = 0
    max_bytes: int = 0
    max_age: int = 0
    halt_after: int = 0
    other: OtherOutput | None = None

    @property
    def is_buffered(self) -> bool:
        """Whether rows are collected in the driver and written from a thread of their own, so that a write may be left behind."""
        return self.policy in (SPILL, FAILOVER, DROP)

    def describe(self) -> str:
        """
        >>> OutageRule(HALT, halt_after=60_000_000).describe()
        'the job stops after 1m'
        """
        timeout = show_duration(self.write_timeout)
        match self.policy:
            case "spill":
                limit = f"up to {self.max_bytes:,} bytes, then the job waits; {show_duration(self.max_age)} at most, then it stops"
                return f"after {timeout} rows wait in the state folder ({limit})"
            case "failover":
                assert self.other is not None
                return f"after {timeout} rows go to the output of {self.other.statement}, marked"
            case "drop":
                return f"after {timeout} rows are dropped and counted"
            case "halt":
                return f"the job stops after {show_duration(self.halt_after)}"
        return "the job waits"

    def to_json(self) -> dict[str, Any]:
        """Nothing where the job waits: plans from before there was a choice say nothing either."""
        if self.policy == WAIT:
            return {}
        lengths = {"write_timeout_us": self.write_timeout if self.is_buffered else 0, "halt_after_us": self.halt_after}
        lengths |= {"max_bytes": self.max_bytes, "max_age_us": self.max_age}
        other = {} if self.other is None else {"failover_to": self.other.statement}
        return {"policy": self.policy, **{key: value for key, value in lengths.items() if value}, **other}


def outage_rule(options: Options) -> OutageRule:
    policy = (options.get(POLICY.key) or WAIT).lower()
    timeout = _micros(options, WRITE_TIMEOUT)
    match policy:
        case "spill":
            most = int(options.get(SPILL_BYTES.key) or SPILL_BYTES.default or 0)
            return OutageRule(SPILL, timeout, max_bytes=most, max_age=_micros(options, SPILL_AGE))
        case "failover":
            return OutageRule(FAILOVER, timeout, other=OtherOutput(options.get(FAILOVER_TO.key) or ""))
        case "drop":
            return OutageRule(DROP, timeout)
        case "halt":
            return OutageRule(HALT, halt_after=_micros(options, HALT_AFTER))
    return OutageRule()


def _micros(options: Options, spec: OptionSpec) -> int:
    return parse_duration(options.get(spec.key) or spec.default or "") or 0
