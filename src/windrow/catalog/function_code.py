"""What a user's Python function is made of, as a short name for it: another body, another name; another comment, the same.

Code is read and not run. Counted are the function, every definition of its module that it leads to, and the same in modules beside the
SQL file that these import. Installed packages are counted where the function itself is in one.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path

# What a version of Python adds to its syntax trees, or what means nothing.
_NOT_READ = {"ctx", "kind", "type_comment", "type_ignores"}
_LENGTH = 16


def code_of(target: str, folder: Path) -> str:
    """A name for the code of ``module:function``; empty where there is no Python source of it."""
    module, _, function = target.partition(":")
    try:
        found = _Reached(folder, module)
        found.reach(module, function)
    except (OSError, SyntaxError, ValueError):
        return ""
    parts = sorted(found.parts)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_LENGTH] if parts else ""


class _Module:
    """The statements of a module: by the names that they give, and those that give none and may do anything."""

    def __init__(self, path: Path) -> None:
        self.by_name: dict[str, list[ast.stmt]] = {}
        self.always: list[ast.stmt] = []
        for statement in ast.parse(path.read_bytes()).body:
            names = list(_names_given(statement))
            for name in names:
                self.by_name.setdefault(name, []).append(statement)
            if not names and not _is_text(statement):
                self.always.append(statement)


class _Reached:
    def __init__(self, folder: Path, module: str) -> None:
        self._folder = folder
        self._package = module.partition(".")[0]
        self._modules: dict[str, _Module | None] = {}
        self._seen: set[tuple[str, str]] = set()
        self.parts: set[str] = set()

    def reach(self, name: str, wanted: str) -> bool:
        """Count what a name of a module stands for; whether the module is one of those that are looked into."""
        module = self._module(name)
        if module is None:
            return False
        if (name, wanted) in self._seen:
            return True
        is_first = not any(each == name for each, _ in self._seen)
        self._seen.add((name, wanted))
        for statement in [*(module.always if is_first else ()), *module.by_name.get(wanted, ())]:
            self._count(name, module, _asked(statement, wanted))
        return True

    def _reach_all(self, name: str) -> bool:
        module = self._module(name)
        for wanted in () if module is None else module.by_name:
            self.reach(name, wanted)
        return module is not None

    def _count(self, name: str, module: _Module, statement: ast.stmt) -> None:
        self.parts.add(f"{name} {_told(statement)}")
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=used) if used in module.by_name:
                    self.reach(name, used)
                case ast.Import(names=names):
                    for each in names:
                        self._reach_all(each.name)
                case ast.ImportFrom(names=names):
                    self._reach_imported(_absolute(name, node), [each.name for each in names])
                case _:
                    pass

    def _reach_imported(self, module: str, names: list[str]) -> None:
        for each in names:
            if each == "*":
                self._reach_all(module)
            elif not self._reach_all(f"{module}.{each}"):
                self.reach(module, each)

    def _module(self, name: str) -> _Module | None:
        if name not in self._modules:
            path = self._path(name)
            self._modules[name] = None if path is None else _Module(path)
        return self._modules[name]

    def _path(self, name: str) -> Path | None:
        """A module beside the file; of installed ones only those of the package that the function is in."""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return None
        beside = self._folder.joinpath(*parts)
        for path in (beside.with_suffix(".py"), beside / "__init__.py"):
            if path.is_file():
                return path
        return _installed(parts) if parts[0] == self._package else None


def _installed(parts: list[str]) -> Path | None:
    """Found without importing anything."""
    found = importlib.util.find_spec(parts[0])
    if found is None or found.origin is None:
        return None
    if len(parts) == 1:
        return Path(found.origin) if found.origin.endswith(".py") else None
    for place in found.submodule_search_locations or ():
        below = Path(place).joinpath(*parts[1:])
        for path in (below.with_suffix(".py"), below / "__init__.py"):
            if path.is_file():
                return path
    return None


def _absolute(module: str, node: ast.ImportFrom) -> str:
    """
    >>> _absolute("a.b", ast.parse("from .c import d").body[0]), _absolute("a.b", ast.parse("from c import d").body[0])
    ('a.c', 'c')
    """
    if not node.level:
        return node.module or ""
    above = module.split(".")[: -node.level]
    return ".".join([*above, *([node.module] if node.module else [])])


def _names_given(statement: ast.stmt) -> Iterator[str]:
    """What a statement at the top of a module gives names to; nothing of one that does more than that."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from ((each.asname or each.name).partition(".")[0] for each in names)
        case ast.ImportFrom(names=names):
            yield from (each.asname or each.name for each in names if each.name != "*")
        case ast.Assign(targets=targets):
            yield from _assigned(targets)
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _asked(statement: ast.stmt, name: str) -> ast.stmt:
    """Of an import, the part that gives a name: its neighbours mean nothing."""
    match statement:
        case ast.ImportFrom(module=module, names=names, level=level) if name in _names_given(statement):
            return ast.ImportFrom(module, [each for each in names if (each.asname or each.name) == name], level)
        case ast.Import(names=names) if name in _names_given(statement):
            return ast.Import([each for each in names if (each.asname or each.name).partition(".")[0] == name])
        case _:
            return statement


def _assigned(targets: list[ast.expr]) -> Iterator[str]:
    """Names alone: what is put into a list or a field may be of any name."""
    nodes = [each for target in targets for each in (target.elts if isinstance(target, ast.Tuple | ast.List) else [target])]
    if all(isinstance(node, ast.Name) for node in nodes):
        yield from (node.id for node in nodes if isinstance(node, ast.Name))


def _is_text(statement: ast.stmt) -> bool:
    """Whether it says something to readers alone."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _told(value: object) -> str:
    """A syntax tree as text, alike in every version of Python: without places, docstrings and what is empty.

    >>> _told(ast.parse("def f(x):\\n  'says'\\n  return x # x")) == _told(ast.parse("def f( x ): return x"))
    True
    >>> _told(ast.parse("x + 1")) == _told(ast.parse("x + 2"))
    False
    """
    match value:
        case ast.AST():
            fields = ((name, below) for name, below in ast.iter_fields(value) if name not in _NOT_READ and below not in (None, []))
            return f"{type(value).__name__}({', '.join(f'{name}={_told(below)}' for name, below in fields)})"
        case list():
            return f"[{', '.join(_told(each) for each in value if not (isinstance(each, ast.stmt) and _is_text(each)))}]"
        case _:
            return repr(value)
