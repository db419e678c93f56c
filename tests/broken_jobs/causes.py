"""What the commands must say of each job that is broken on purpose: the words of the command, and what its output has to name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

FILE = "q.sql"


@dataclass(frozen=True)
class Said:
    words: tuple[str, ...]
    parts: tuple[str, ...]


def advise(*parts: str) -> Said:
    return Said(("advise", FILE), parts)


def analyze(*parts: str) -> Said:
    return Said(("explain", FILE, "--analyze"), parts)


def lag(*parts: str) -> Said:
    return Said(("why", "lag", FILE), parts)


def window(*parts: str) -> Said:
    return Said(("why", "window", FILE, "revenue"), parts)


def row(letter: str, *parts: str) -> Said:
    return Said(("why", "row", FILE, letter), parts)


SITUATIONS: Mapping[str, tuple[Said, ...]] = {
    "idle_partition": (
        window("held by partition 1 of orders, which stands at 2026-01-05 09:30:09", "let silent partitions of orders hold nothing back"),
        analyze("held back by partition 1"),
        advise("partition 1 of orders holds the watermark back", "no idle timeout is set", "'watermark.idle_timeout' = '"),
        lag("the slowest partition is behind the furthest", "hint: partition 1 of orders holds the watermark back"),
    ),
    "future_row": (
        row("1-0", "set aside in batch 1 with WR704", "ahead of its arrival", "'event.time.max_future' of orders is 1d"),
        analyze("1 dead (WR704 1)", "1 of 240 rows of orders has an event time too far in the future; it did not move the watermark"),
        advise("1 of 240 rows of orders has an event time too far in the future", "windrow dead-letters list q.sql --code WR704"),
    ),
    "wrong_unit": (
        window("the watermark of revenue is at 1970-01-"),
        analyze("watermark   1970-01-", "the unit of the event time is likely misread"),
        advise("the greatest event time of orders is 1970-01-", "'event.time.format' = 'epoch_seconds'"),
        lag("hint: the greatest event time of orders is 1970-01-"),
    ),
    "wrong_unit_future": (
        window("240 of 240 rows of orders are set aside because their event time is far in the future", "the unit of the event time"),
        row("0-0", "WR704", "'event.time.format' is 'epoch_seconds'"),
        analyze("240 in = 0 passed + 240 dead (WR704 240)"),
        advise("240 of 240 rows of orders are set aside", "the unit of the event time is likely another one", "'event.time.format' = '"),
    ),
    "short_delay": (
        analyze("dead (WR705", "rows came too late for revenue"),
        advise("rows came too late for revenue", "would have taken", "'watermark.delay' = '", "ALLOWED_LATENESS"),
    ),
    "skewed_key": (
        analyze("rows that revenue holds are of one of its", "customer = 'guest'"),
        advise("rows that revenue holds are of one of its", "customer = 'guest'"),
    ),
    "slow_sink": (
        analyze("bottleneck: paid", "reading waits for it", "writing paid"),
        advise("writing paid", "reading waits for it", "--trigger-interval"),
        lag("bottleneck: paid", "hint: writing paid"),
    ),
    "broker_away": (
        analyze("the job took no rows since", "Kafka"),
        advise("the job took no rows since", "Kafka"),
        lag("hint: the job took no rows since"),
        window("note: the job took no rows since"),
    ),
    "stale_table": (
        analyze("stale", "table customers was not refreshed"),
        advise("table customers was not refreshed, and the 2 rows of its last load stay in force"),
        lag("hint: table customers was not refreshed"),
    ),
    "state_limit": (
        analyze("88% of state.max_groups = 100 (critical)"),
        advise(
            "the state holds 88 groups and windows, 88% of state.max_groups = 100 (critical); most of it is of spent",
            "--set state.max_groups=200",
        ),
    ),
    "state_full": (
        analyze("the job failed at", "WR807", "beyond state.max_groups = 100"),
        advise("1. the job failed at", "run again with --set state.max_groups=200"),
        lag("hint: the job failed at"),
    ),
    "empty_filter": (
        window("no such window of revenue is held", "the filter of revenue let none of 240 rows through"),
        analyze("240 in = 0 passed + 240 filtered", "the filter of revenue let none of 240 rows through"),
        advise("the filter of revenue let none of 240 rows through: WHERE amount > 1000"),
    ),
}


def missing(run: Callable[..., str], said: Said) -> list[str]:
    """What the output of a command should name and does not. ``run`` gives what it prints."""
    told = run(*said.words, "--state", "state/q")
    return [f"{' '.join(said.words)} does not say {part!r}:\n{told}" for part in said.parts if part not in told]
