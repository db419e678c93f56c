"""What the source says with each error code, read from the calls that raise it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

_CODE = re.compile(r"WR\d{3}")
Names = Mapping[str, set[str]]


def templates(source: Path) -> dict[str, list[re.Pattern[str]]]:
    """For each code the messages that go with it. What is only known when it is raised fits anything."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(source.rglob("*.py"))]
    everywhere: dict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for name, code in _constants(tree):
            everywhere[name].add(code)
    found: dict[str, list[re.Pattern[str]]] = defaultdict(list)
    for tree in trees:
        own = {name: {code} for name, code in _constants(tree)}
        for code, pattern in _messages(tree, {**everywhere, **own}):
            found[code].append(pattern)
    return found


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that stand for a code: ``NO_FILE = "WR610"``, and several at once."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names = [each.id for each in ast.walk(node.targets[0]) if isinstance(each, ast.Name)]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for name, value in zip(names, values, strict=False):
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and _CODE.fullmatch(value.value):
                    yield name, value.value


def _messages(tree: ast.Module, named: Names) -> Iterator[tuple[str, re.Pattern[str]]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for argument, following in zip(node.args, node.args[1:], strict=False):
            pattern = _pattern(_value_of(following, tree))
            if pattern is not None:
                yield from ((code, re.compile(pattern, re.DOTALL)) for code in _codes(argument, named))


def _codes(node: ast.expr, named: Names) -> set[str]:
    match node:
        case ast.Constant(value=str(text)) if _CODE.fullmatch(text):
            return {text}
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return named.get(name, set())
        case _:
            return set()


def _value_of(node: ast.expr, tree: ast.Module) -> ast.expr:
    """What a variable was last given above the line where it is used."""
    if not isinstance(node, ast.Name):
        return node
    above = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and each.targets[0].id == node.id
        and each.lineno < node.lineno
    ]
    return max(above, key=lambda each: each.lineno).value if above else node


def _pattern(node: ast.expr) -> str | None:
    """A regular expression for the text that an expression makes; None where it tells nothing of it."""
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=parts):
            return "".join(_pattern(part) or ".*" for part in parts)
        case _:
            return None
