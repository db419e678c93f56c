"""The parts of docs/server.md that the server's own description has: its paths, and the columns of the system tables."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from tools.reference.markdown import code, table
from windrow.server.app import make_app
from windrow.server.processes import Processes
from windrow.server.reconciler import Reconciler
from windrow.server.registry import Registry
from windrow.server.service import Service
from windrow.server.system_tables import TABLES

_METHODS = ("get", "post", "put", "patch", "delete")


def api_paths() -> str:
    with TemporaryDirectory() as folder:
        from pathlib import Path

        registry = Registry(Path(folder, "registry.db"))
        try:
            jobs = Path(folder, "jobs")
            told = make_app(Service(jobs, registry, Reconciler(jobs, registry, Processes()), {})).openapi()
        finally:
            registry.close()
    rows = (
        (code(f"{method.upper()} {path.removeprefix('/api/v1')}"), _scopes(operation), operation["summary"])
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
        if method in _METHODS
    )
    return table(("path", "needs", "what it does"), rows)


def _scopes(operation: dict[str, list[dict[str, list[str]]]]) -> str:
    return ", ".join(code(scope) for scope in operation["security"][0]["bearer"]) if operation.get("security") else ""


def system_table_columns() -> str:
    rows = (
        (code(f"system.{name}"), one.doc, ", ".join(one.columns), code("data") if one.holds_data else "") for name, one in TABLES.items()
    )
    return table(("table", "rows", "columns", "needs"), rows)
