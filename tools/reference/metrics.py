"""The table of metrics, from the one list of them."""

from __future__ import annotations

from itertools import groupby

from tools.reference.markdown import code, table
from windrow.observe.event import TYPES
from windrow.observe.instruments import INSTRUMENTS, JOB, MOST_PARTITIONS

HEAD = f"""# Metrics

What a job tells Prometheus at `/metrics` ([how to listen](monitoring.md)). Every series has the label `{JOB}`; the others are in the table.
Counters that are *durable* are read from the saved state: they go on after a restart and are exact after a crash. The others begin
at 0 with the process, as Prometheus expects of a counter. Where a source has more than {MOST_PARTITIONS} partitions, those that are
furthest behind are told one by one.

The process itself is told by `process_cpu_seconds_total`, `process_resident_memory_bytes` and their kin.
"""


def metrics_page() -> str:
    parts = [HEAD]
    for group, found in groupby(INSTRUMENTS.values(), key=lambda one: one.group):
        rows = (
            (
                code(one.full_name),
                f"{one.kind.value}{', durable' if one.is_durable else ''}",
                one.unit,
                ", ".join(code(label) for label in one.labels),
                one.help,
            )
            for one in found
        )
        parts.append(f"## {group}\n{table(('metric', 'type', 'unit', 'labels', 'meaning'), rows)}\n")
    return "\n".join(parts)


def event_types() -> str:
    return table(("type", "when"), ((code(name), when) for name, when in TYPES.items()))
