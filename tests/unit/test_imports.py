"""The import rules: which package may know which, read from the source text so that nothing has to be imported.

To add a package, add its line to ``MAY_IMPORT`` below those it builds on. To use a new library in a confined place, add it to ``CONFINED``.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"

# Package -> what it may import of ours, besides itself. A line may only name lines above it, so the order is the order of the layers.
# A dotted name opens that module only.
MAY_IMPORT: dict[str, set[str]] = {
    "allocator": set(),
    "model": set(),
    "errors": {"model"},
    "java": {"errors"},
    "settings": {"errors"},
    "jars": {"errors", "java", "settings"},
    "sql": {"model", "errors"},
    "resilience": {"errors"},
    "otap": {"model", "errors"},
    "connectors": {"model", "errors", "resilience", "jars", "otap"},
    "local": {"errors", "java", "jars", "resilience", "connectors.kafka"},
    "aggregates": {"model", "errors"},
    "windowing": {"model"},
    "catalog": {"model", "errors", "sql", "aggregates", "connectors.spec", "connectors.registry"},
    "check": {"model", "errors", "sql", "aggregates", "catalog", "connectors.spec", "connectors.registry"},
    "plan": {"model", "errors", "sql", "aggregates", "catalog", "check", "windowing", "connectors.spec", "connectors.registry"},
    "describing": {"model", "errors", "sql", "catalog", "plan", "connectors.spec", "connectors.registry"},
    "compiling": {"model", "errors", "sql", "catalog", "check", "plan", "describing"},
    "observe": {"model", "errors", "settings", "plan", "resilience"},
    "spark": {
        "model",
        "errors",
        "java",
        "settings",
        "jars",
        "sql",
        "resilience",
        "otap",
        "connectors",
        "aggregates",
        "windowing",
        "catalog",
        "check",
        "plan",
        "observe",
    },
}
BELOW_JOBS = set(MAY_IMPORT)
MAY_IMPORT["jobs"] = BELOW_JOBS
MAY_IMPORT["testing"] = {*BELOW_JOBS, "jobs"}
MAY_IMPORT["api"] = {*BELOW_JOBS, "jobs"}
MAY_IMPORT["server"] = {*BELOW_JOBS, "jobs", "api"}
MAY_IMPORT["cli"] = {*BELOW_JOBS, "jobs", "testing", "api", "server"}
# The list of all codes, for the documentation.
MAY_IMPORT["__main__"] = {"cli"}
MAY_IMPORT["codes"] = {"model", "sql", "check", "connectors", "cli"}

# Module -> the only places of ours that may import it.
CONFINED: dict[str, set[str]] = {
    "sqlglot": {"sql"},
    "pyspark": {"spark", "connectors", "jobs", "testing", "api"},
    "py4j": {"spark", "connectors", "jobs"},
    "polars": {"aggregates", "windowing", "otap", "spark", "connectors", "jobs", "testing"},
    "pyarrow": {"aggregates", "windowing", "otap", "spark", "connectors", "jobs", "testing"},
    "typer": {"cli"},
    "prompt_toolkit": {"cli"},
    "pydantic_settings": {"settings"},
    "confluent_kafka": {"connectors", "local"},
}

# What a connector says about itself is read by every check and by --help: it must load in no time.
LIGHT = ("connectors.spec", "connectors.registry")

# Packages whose result may depend on their arguments only.
PURE = ("model", "sql", "aggregates", "windowing", "check", "plan")
IMPURE_MODULES = {"os", "time", "socket", "subprocess", "random", "secrets", "uuid", "urllib", "http", "threading", "tempfile", "shutil"}
WALL_CLOCK = {"now", "utcnow", "today"}

# The allocator is told by it, before anything else is loaded.
READS_ENVIRONMENT = {"settings", "java", "allocator"}


@dataclass(frozen=True)
class Module:
    """One source file: ``name`` is its dotted name without the leading ``windrow.``."""

    name: str
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_light(self) -> bool:
        return self.name in LIGHT or (self.package == "connectors" and self.name.endswith(".spec"))

    def imports(self) -> Iterator[tuple[int, str]]:
        """Line and dotted name of everything imported, wherever in the file, also for type checking only."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.name}:{node.lineno} relative import"
                # "from a import b" may mean the module a.b; a rule that opens or closes a holds for a.b as well.
                yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def parse(name: str, text: str) -> Module:
    return Module(name, ast.parse(text))


def modules() -> list[Module]:
    found = []
    for path in sorted((SRC / "windrow").rglob("*.py")):
        parts = path.relative_to(SRC / "windrow").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name:  # windrow/__init__.py itself: see test_the_package_itself_imports_nothing_heavy
            found.append(parse(name, path.read_text(encoding="utf-8")))
    return found


def is_under(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def faults(module: Module) -> list[str]:
    """Every rule that one file breaks."""
    return [*layer_faults(module), *library_faults(module), *purity_faults(module), *environment_faults(module)]


def layer_faults(module: Module) -> Iterator[str]:
    if module.package not in MAY_IMPORT:
        yield f"{module.name}: package {module.package!r} has no line in MAY_IMPORT"
        return
    allowed = {module.package, *MAY_IMPORT[module.package]}
    for line, name in module.imports():
        if not is_under(name, "windrow"):
            continue
        target = name.removeprefix("windrow.")
        if not any(is_under(target, prefix) for prefix in allowed):
            yield f"{module.name}:{line} imports {name}, but {module.package} may import only {sorted(allowed)}"
        if module.package == "connectors" and crosses_connectors(module.name, target):
            yield f"{module.name}:{line} imports {name}: one connector must not know another"


def crosses_connectors(importer: str, target: str) -> bool:
    here, there = importer.split("."), target.split(".")
    folders = {path.name for path in (SRC / "windrow" / "connectors").iterdir() if path.is_dir()}
    both_inside = len(here) > 2 and len(there) > 2 and there[0] == "connectors"
    return both_inside and there[1] in folders and here[1] != there[1]


def library_faults(module: Module) -> Iterator[str]:
    for line, name in module.imports():
        places = CONFINED.get(name.partition(".")[0])
        if places is not None and module.package not in places:
            yield f"{module.name}:{line} imports {name}, which only {sorted(places)} may"
        if places is not None and module.is_light:
            yield f"{module.name}:{line} imports {name}, but what a connector states about itself needs no library"


def purity_faults(module: Module) -> Iterator[str]:
    if module.package not in PURE:
        return
    for line, name in module.imports():
        if name.partition(".")[0] in IMPURE_MODULES:
            yield f"{module.name}:{line} imports {name}, but {module.package} is pure"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WALL_CLOCK:
            yield f"{module.name}:{node.lineno} asks the wall clock, but {module.package} is pure"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("open", "print", "input"):
            yield f"{module.name}:{node.lineno} calls {node.func.id}(), but {module.package} is pure"


def environment_faults(module: Module) -> Iterator[str]:
    if module.package in READS_ENVIRONMENT:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            names = [node.attr]
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            if name in ("environ", "environb", "getenv", "putenv"):
                yield f"{module.name}:{node.lineno} uses os.{name}; settings.py reads the environment"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_module_keeps_the_import_rules(module: Module) -> None:
    assert faults(module) == []


def test_the_layers_go_one_way() -> None:
    order = list(MAY_IMPORT)
    for package, allowed in MAY_IMPORT.items():
        for target in allowed:
            assert order.index(target.partition(".")[0]) < order.index(package), f"{package} may import {target}, which is not above it"


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("model.expr", "from windrow.errors import Diagnostic", "may import only"),
        ("sql.parser", "import windrow.catalog.schema", "may import only"),
        ("catalog.schema", "from windrow.connectors.runtime import Source", "may import only"),
        ("catalog.schema", "from windrow.connectors import runtime", "may import only"),
        ("check.rules", "def f():\n    import sqlglot.expressions", "which only ['sql'] may"),
        ("plan.stages", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pyspark.sql import DataFrame", "which only"),
        ("connectors.memory.spec", "import pyarrow", "needs no library"),
        ("connectors.memory.runtime", "from windrow.connectors.files.runtime import read", "must not know another"),
        ("windowing.step", "from time import monotonic", "is pure"),
        ("windowing.step", "import datetime as d\nd.datetime.now()", "asks the wall clock"),
        ("check.rules", "open('x')", "is pure"),
        ("spark.session", "import os\nos.environ['A'] = 'b'", "settings.py reads the environment"),
        ("jobs.run", "from os import getenv", "settings.py reads the environment"),
        ("utils.text", "", "has no line in MAY_IMPORT"),
    ],
)
def test_a_broken_rule_is_seen(name: str, text: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("memory", "files"):
        (tmp_path / "windrow" / "connectors" / folder).mkdir(parents=True)
    monkeypatch.setattr(sys.modules[__name__], "SRC", tmp_path)
    assert any(fault in found for found in faults(parse(name, text)))


def test_allowed_imports_are_not_faulted() -> None:
    text = "import os\nfrom windrow.connectors.registry import CONNECTORS\nfrom windrow.sql import durations\nos.path.join('a', 'b')"
    assert faults(parse("catalog.schema", text)) == []


def loaded_after(code: str) -> set[str]:
    """Top-level modules that a fresh Python has loaded once it ran ``code``."""
    script = f"{code}\nimport sys\nprint('\\nloaded', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stdout.rpartition("loaded ")[2].split()}


def test_help_starts_no_spark() -> None:
    code = """
import sys
from windrow.cli.main import main

sys.argv = ["windrow", "--help"]
try:
    main()
except SystemExit as end:
    assert not end.code
"""
    assert not {"pyspark", "py4j"} & loaded_after(code)


def test_the_package_itself_imports_nothing_heavy() -> None:
    assert not {"pyspark", "polars", "pyarrow", "sqlglot"} & loaded_after("import windrow")
