"""Whether a job that should run may start now: those whose rows it reads go first, and no more run at once than there is room for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from windrow.errors import UsageError
from windrow.lineage import lineage_of
from windrow.plan import Plan
from windrow.server.registry import RUNNING, Deployment

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
# What Spark takes for the driver where nobody says anything, and what Python and Java need beside their heap.
DRIVER_MEMORY, BESIDE_HEAP = "1g", 400 << 20
# A source that does not come up is not waited for any longer.
PATIENCE_MILLIS = 120_000
_COMING = frozenset({"starting", "restarting", "queued", "stopped", "stopping"})


def parse_size(text: str, what: str) -> int:
    """
    >>> parse_size("512m", "--max-memory"), parse_size("1.5GiB", "--max-memory")
    (536870912, 1610612736)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise UsageError("WR936", f"{what} {text} is no amount of memory", f"{what} 8g")
    return int(float(found[1]) * _UNITS[found[2].lower()])


@dataclass(frozen=True)
class Limits:
    """``jobs`` processes at once, and ``memory`` bytes for all of them; None where there is none."""

    jobs: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Needs:
    """What a version of a job reads and writes that others can name, and the memory that it is given."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    memory: int = 0


def needs_of(plan: Plan, deployment: str, settings: Mapping[str, str]) -> Needs:
    lineage = lineage_of(plan, deployment)
    heap = parse_size(settings.get("spark.driver.memory", DRIVER_MEMORY), "spark.driver.memory")
    return Needs(
        frozenset(_named(str(outside), deployment) for _, outside in lineage.reads),
        frozenset(_named(str(outside), deployment) for _, outside in lineage.writes),
        heap + BESIDE_HEAP,
    )


def _named(dataset: str, deployment: str) -> str:
    """A relative path is below the job's own folder, and nobody else's."""
    scheme, _, path = dataset.partition("/")
    return f"{deployment}: {dataset}" if scheme == "file" and not path.startswith("/") else dataset


def obstacle(
    deployment: Deployment, others: Iterable[Deployment], needs: Mapping[str, Needs], alive: frozenset[str], limits: Limits, now: int
) -> str:
    """Why it does not start yet, in words; empty where it may. ``alive`` are the deployments that have a process."""
    own = needs.get(deployment.name, Needs())
    if limits.jobs is not None and len(alive) >= limits.jobs:
        return f"{len(alive)} jobs run, and --max-jobs is {limits.jobs}: it starts when one of them ends"
    taken = sum(needs.get(name, Needs()).memory for name in alive)
    if limits.memory is not None and taken + own.memory > limits.memory:
        free = (limits.memory - taken) / (1 << 20)
        return f"it needs {own.memory / (1 << 20):,.0f} MiB, and of --max-memory {max(0.0, free):,.0f} MiB are left"
    if now - deployment.asked_at > PATIENCE_MILLIS:
        return ""
    known = list(others)
    for one in known:
        if one.desired != RUNNING or one.observed not in _COMING or not own.reads & needs.get(one.name, Needs()).writes:
            continue
        if not _reads_from(one.name, deployment.name, needs):
            return f"it reads what {one.name} writes, which is {one.observed}"
    return ""


def _reads_from(name: str, source: str, needs: Mapping[str, Needs]) -> bool:
    """Whether rows of ``source`` come to ``name``, by whatever way: two that read each other do not wait for each other."""
    seen, todo = {name}, [name]
    while todo:
        reads = needs.get(todo.pop(), Needs()).reads
        for other, its in needs.items():
            if other not in seen and its.writes & reads:
                if other == source:
                    return True
                seen.add(other)
                todo.append(other)
    return False
