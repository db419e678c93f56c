"""One module does the arithmetic of the ledger, so that what is counted can be read in one place."""

from __future__ import annotations

import ast
from dataclasses import fields
from pathlib import Path

from windrow.observe.ledger import Account

SRC = Path(__file__).resolve().parents[3] / "src" / "windrow"
WRITERS = {"observe/ledger.py", "spark/execution/ledger_writer.py"}
COUNTS = {spec.name for spec in fields(Account)}


def _counted(target: ast.expr) -> bool:
    """Whether a number of an account is meant. Counters of stages are another thing, and called so."""
    if isinstance(target, ast.Subscript):
        target = target.value
    return isinstance(target, ast.Attribute) and target.attr in COUNTS and not ast.unparse(target.value).startswith(("self", "counters"))


def test_no_other_module_adds_to_an_account() -> None:
    found = {
        f"{path.relative_to(SRC)}: {ast.unparse(node)}"
        for folder in ("spark", "jobs", "testing")
        for path in (SRC / folder).rglob("*.py")
        if path.relative_to(SRC).as_posix() not in WRITERS
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.AugAssign) and _counted(node.target)
    }
    assert found == set()
