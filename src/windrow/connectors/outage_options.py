"""WITH keys that every output to a system outside has in common: what happens to its rows while that system is away or slow."""

from __future__ import annotations

from windrow.connectors.spec import OptionKind, OptionSpec

_CHOICE, _DURATION = OptionKind.CHOICE, OptionKind.DURATION

WAIT, SPILL, FAILOVER, DROP, HALT = "wait", "spill", "failover", "drop", "halt"

POLICY = OptionSpec(
    "on.unavailable", _CHOICE,
    "what happens to rows while the system is away: the job waits (`wait`), they wait in the state folder (`spill`), go to another "
    "output (`failover`), are dropped and counted (`drop`), or the job stops after `halt.after` (`halt`)",
    default=WAIT, choices=(WAIT, SPILL, FAILOVER, DROP, HALT), example=SPILL,
)  # fmt: skip
WRITE_TIMEOUT = OptionSpec(
    "write.timeout", _DURATION,
    "with `spill`, `failover` or `drop`: a write that takes longer holds the job up no more, and the output counts as slow",
    default="30s", example="5s",
)  # fmt: skip
SPILL_BYTES = OptionSpec(
    "spill.max_bytes", OptionKind.INTEGER, "with `spill`: so much may wait in the state folder; beyond it the job waits, too",
    default="1073741824", example="10737418240",
)  # fmt: skip
SPILL_AGE = OptionSpec(
    "spill.max_age", _DURATION, "with `spill`: rows that have waited for longer stop the job (`WR824`); none is lost",
    default="1d", example="6h",
)  # fmt: skip
FAILOVER_TO = OptionSpec(
    "failover.to", OptionKind.TEXT, "with `failover`: the stream of this file whose output takes the rows, each marked", example="backup"
)
HALT_AFTER = OptionSpec(
    "halt.after", _DURATION, "with `halt`: how long the system may be away before the job stops (`WR825`)", default="5m", example="1m"
)

OUTAGE_OPTIONS: tuple[OptionSpec, ...] = (POLICY, WRITE_TIMEOUT, SPILL_BYTES, SPILL_AGE, FAILOVER_TO, HALT_AFTER)

READ_BY: dict[str, tuple[str, ...]] = {
    WRITE_TIMEOUT.key: (SPILL, FAILOVER, DROP),
    SPILL_BYTES.key: (SPILL,),
    SPILL_AGE.key: (SPILL,),
    FAILOVER_TO.key: (FAILOVER,),
    HALT_AFTER.key: (HALT,),
}
"""With which policies a key means something."""
