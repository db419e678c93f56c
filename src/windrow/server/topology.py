"""The operators of a job as a graph, with what went through them where the job has said so."""

from __future__ import annotations

from typing import Any

from windrow.compiler import compile_sql
from windrow.settings import environment


def topology(name: str, sql: str, status: dict[str, Any] | None) -> dict[str, Any]:
    """Nodes in the order in which rows flow. Numbers are those of the run so far and of its last batch; None while unknown."""
    live = {one["name"]: one for job in (status or {}).get("jobs", ()) for one in job.get("operators", ())}
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, str]] = []
    for job in compile_sql(sql, f"{name}.sql", environment()).plan.jobs:
        for stage in job.stages:
            own = live.get(stage.name, {})
            nodes.append(
                {
                    "name": stage.name,
                    "job": job.name,
                    "kind": type(stage).__name__,
                    "reason": getattr(stage, "reason", ""),
                    **{key: own.get(key) for key in ("rows_in", "rows_out", "seconds", "total_rows_in", "total_rows_out", "total_seconds")},
                    "state": own.get("state"),
                    "strategies": own.get("strategies", []),
                }
            )
            edges.extend({"from": source, "to": stage.name} for source in stage.inputs)
    return {"nodes": nodes, "edges": edges}
