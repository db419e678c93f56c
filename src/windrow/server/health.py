"""Health and metrics of the server and of its jobs: tables that load, progress, systems outside, numbers for Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any

from windrow.server.agent import ask
from windrow.server.alert_book import AlertBook
from windrow.server.job_folders import JobFolder
from windrow.server.service import Service

_AT_ONCE, _PATIENCE = 8, 1.5


def of_jobs(service: Service, path: str, key: str, only: str | None = None) -> list[dict[str, Any]]:
    """What every job that runs says at a path of its own; those that do not answer in time are left out."""
    if only is not None:
        service.job(only)
    names = [one.name for one in service.registry.deployments() if only in (None, one.name) and service.reconciler.process(one.name)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        told = list(pool.map(lambda name: ask(JobFolder(service.root, name).socket, path, timeout=_PATIENCE), names))
    return [{"deployment": name, **one} for name, found in zip(names, told, strict=True) for one in _items(found, key)]


def _items(found: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    items = (found or {}).get(key, [])
    if isinstance(items, dict):
        return [{"name": name, "series": series} for name, series in items.items()]
    return [one for one in items if isinstance(one, dict)]


def metrics(service: Service, alerts: AlertBook) -> str:
    """In the text format of Prometheus. What jobs compute they tell themselves; here is what the server knows of them."""
    deployments = service.registry.deployments()
    lines = [*_metric("windrow_server_info", "The version of the server.", [({"version": version("windrow")}, 1)])]
    states = Counter(one.observed for one in deployments)
    lines += _metric("windrow_server_jobs", "Jobs by what they do.", [({"state": state}, n) for state, n in sorted(states.items())])
    lines += _metric(
        "windrow_server_job_state", "1 for what a job does.", [({"job_name": one.name, "state": one.observed}, 1) for one in deployments]
    )
    lines += _metric(
        "windrow_server_job_wanted",
        "1 for what a job should do.",
        [({"job_name": one.name, "state": one.desired}, 1) for one in deployments],
    )
    firing = Counter((one.state, one.level) for one in alerts.active())
    lines += _metric("windrow_server_alerts", "Alerts.", [({"state": s, "level": level}, n) for (s, level), n in sorted(firing.items())])
    lines += _metric("windrow_server_operations", "Changes under way.", [({}, len(service.books.unfinished()))])
    return "\n".join([*lines, ""])


def _metric(name: str, text: str, samples: list[tuple[dict[str, str], float]]) -> Iterator[str]:
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        told = ",".join(f'{key}="{_escaped(one)}"' for key, one in labels.items())
        yield f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(text: str) -> str:
    r"""
    >>> _escaped('a "b"')
    'a \\"b\\"'
    """
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
