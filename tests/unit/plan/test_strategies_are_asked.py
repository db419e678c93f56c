"""Every way of doing something that EXPLAIN can name is asked for, or noted, by the code that goes it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from windrow.plan.physical.strategies import Strategy

SOURCE = Path(__file__).parents[3] / "src" / "windrow"
KINDS = {kind.__name__: kind for kind in Strategy.__subclasses__()}


def _names_of_strategies(tree: ast.Module) -> dict[str, str]:
    """The names under which a module knows the enums of strategies."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "windrow.plan.physical.strategies"]
    return {alias.asname or alias.name: alias.name for node in imports for alias in node.names if alias.name in KINDS}


@cache
def _modules() -> dict[str, ast.Module]:
    """Those outside the plan, by their paths."""
    paths = [path for path in SOURCE.rglob("*.py") if path.relative_to(SOURCE).parts[:2] != ("plan", "physical")]
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return {path: ast.parse(text) for path, text in texts.items() if "plan.physical" in text}


@cache
def _asked() -> dict[str, set[str]]:
    """The members that code outside the plan names, by enum."""
    found: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for tree in _modules().values():
        known = _names_of_strategies(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in known:
                found[known[node.value.id]].add(node.attr)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_strategy_is_only_printed(kind: str) -> None:
    assert {way.name for way in KINDS[kind]} - _asked()[kind] == set()


def test_who_decides_for_itself_is_not_in_spark_or_jobs() -> None:
    """The functions of the plan that choose are called by the planner; a second caller would be a second opinion."""
    choosing = {"decoding_choice", "has_sole_join", "state_choice", "merge_choice", "totals_choice", "finish_choice", "accounting_choice"}
    callers = {
        f"{path}: {node.func.id}"
        for path, tree in _modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in choosing
    }
    # It asks whether the workers must be asked for Arrow: one of the facts that the plan is made of.
    assert callers == {"jobs/inputs.py: decoding_choice"}
