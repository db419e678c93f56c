"""The row protocol: a hidden column has one declaration, so that a name means one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).resolve().parents[2] / "src" / "windrow"
# Tables of telemetry, files of settings and of test cases: they never meet the rows of a job.
ELSEWHERE = {"otap", "config", "testing", "cli"}
HIDDEN = re.compile(r"_[a-z][a-z0-9_]*")


def _declared(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Names of columns that a module declares, each with the constant that holds it: also several in a line."""
    for node in module.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) else [value]
            for one, held in zip(targets, values, strict=False):
                if isinstance(one, ast.Name) and isinstance(held, ast.Constant) and isinstance(held.value, str):
                    yield held.value, one.id


def test_every_hidden_column_is_declared_once() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SRC.rglob("*.py")):
        where = path.relative_to(SRC)
        if where.parts[0] not in ELSEWHERE:
            for name, constant in _declared(ast.parse(path.read_text(encoding="utf-8"))):
                if HIDDEN.fullmatch(name):
                    found[name].append(f"{where}: {constant}")
    assert len(found) > 60, "the declarations are not found any more"
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
