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
# A dotted name opens that module only; one with a line of its own is a package of its own, under the rules of that line.
MAY_IMPORT: dict[str, set[str]] = {
    "allocator": set(),
    "model": set(),
    "errors": {"model"},
    "plugins": {"errors"},
    "java": {"errors"},
    "settings": {"errors"},
    "jars": {"errors", "java", "settings"},
    "packing": {"errors"},
    "storage": {"errors", "java", "settings"},
    "sql": {"model", "errors"},
    "resilience": {"errors"},
    "spark.internals": {"errors", "java", "settings"},
    "otap": {"model", "errors", "storage"},
    "connectors": {"model", "errors", "plugins", "resilience", "jars", "storage", "otap", "spark.internals"},
    "local": {"errors", "java", "jars", "resilience", "connectors.kafka"},
    "lazy": set(),
    "aggregates": {"model", "errors", "plugins", "lazy"},
    "windowing": {"model", "lazy"},
    "catalog": {"model", "errors", "plugins", "sql", "aggregates", "connectors.spec", "connectors.outage_options", "connectors.registry"},
    # What is said about metrics can be checked before anything runs.
    "observe.instruments": set(),
    "observe.promql": {"model", "observe.instruments"},
    "check": {
        "model",
        "errors",
        "sql",
        "aggregates",
        "catalog",
        "connectors.spec",
        "connectors.outage_options",
        "connectors.registry",
        "observe.promql",
    },
    "plan": {
        "model",
        "errors",
        "plugins",
        "sql",
        "aggregates",
        "catalog",
        "check",
        "windowing",
        "connectors.spec",
        "connectors.outage_options",
        "connectors.registry",
    },
    "changes": {"model", "errors", "aggregates", "plan", "sql"},
    "graphs": set(),
    "lineage": {"model", "errors", "sql", "aggregates", "plan", "graphs", "connectors.registry"},
    "observe": {"model", "errors", "settings", "plan", "resilience", "observe.instruments", "observe.promql"},
    "diagnosis": {"model", "errors", "sql", "plan", "observe", "graphs"},
    "groups": {
        "model",
        "errors",
        "sql",
        "catalog",
        "plan",
        "changes",
        "graphs",
        "lineage",
        "observe",
        "diagnosis",
        "connectors.spec",
        "connectors.registry",
    },
    "introspection": {
        "model",
        "errors",
        "sql",
        "catalog",
        "check",
        "plan",
        "graphs",
        "lineage",
        "diagnosis",
        "groups",
        "connectors.spec",
        "connectors.registry",
    },
    "compiler": {"model", "errors", "sql", "catalog", "check", "plan", "introspection"},
    "serving": {"errors", "observe", "resilience"},
    "spark": {
        "model",
        "errors",
        "java",
        "settings",
        "jars",
        "packing",
        "storage",
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
        "spark.internals",
    },
}
BELOW_JOBS = set(MAY_IMPORT)
MAY_IMPORT["jobs"] = BELOW_JOBS
MAY_IMPORT["presets"] = {"errors"}
MAY_IMPORT["config"] = {*BELOW_JOBS, "jobs.options"}
MAY_IMPORT["testing"] = {*BELOW_JOBS, "jobs", "config"}
MAY_IMPORT["api"] = {*BELOW_JOBS, "jobs"}
MAY_IMPORT["server"] = {*BELOW_JOBS, "jobs", "config", "api"}
MAY_IMPORT["cli"] = {*BELOW_JOBS, "jobs", "config", "presets", "testing", "api", "server"}
# The list of all codes, for the documentation.
MAY_IMPORT["__main__"] = {"cli"}
MAY_IMPORT["codes"] = {"model", "sql", "check", "connectors", "config", "cli"}

# The rooms of ``spark``, each of which may import those before it. What Spark does not promise comes first; a batch is compiled, queried,
# scanned, kept as state, carried along with its accounts, looked up in tables, processed by operators, and all of that is executed.
# A dotted name is that module only.
ROOMS: tuple[tuple[str, ...], ...] = (
    ("row_columns",),
    ("internals",),
    ("compile",),
    ("query",),
    ("scan",),
    ("state",),
    # What every batch carries from operator to operator.
    (
        "execution.batch",
        "execution.dead_letters",
        "execution.late_row_counts",
        "execution.ledger_writer",
        "execution.measurements",
        "execution.time_sources",
        "execution.violations",
        "execution.watermarks",
    ),
    ("tables",),
    ("operators",),
    ("execution",),
)
# (importer, imported) -> why it may, all the same.
_SAME_STEP = "executors that hold state run the very step that the driver would"
ACROSS_ROOMS = {("state.buckets", "operators.steps"): _SAME_STEP, ("state.buckets", "operators.state_columns"): _SAME_STEP}

# Module -> the only places of ours that may import it.
CONFINED: dict[str, set[str]] = {
    "sqlglot": {"sql"},
    "pyspark": {"storage", "spark.internals", "spark", "connectors", "jobs", "testing", "api"},
    "py4j": {"storage", "spark.internals"},
    "polars": {"aggregates", "windowing", "otap", "spark", "connectors", "jobs", "testing"},
    "pyarrow": {"storage", "aggregates", "windowing", "otap", "spark.internals", "spark", "connectors", "jobs", "testing"},
    "typer": {"cli"},
    "yaml": {"config", "cli"},
    "prompt_toolkit": {"cli"},
    "pydantic_settings": {"settings"},
    "confluent_kafka": {"connectors", "local"},
    "prometheus_client": {"observe"},
    "structlog": {"observe"},
}

# What a connector says about itself is read by every check and by --help: it must load in no time.
LIGHT = ("connectors.spec", "connectors.registry")

# Packages whose result may depend on their arguments only.
PURE = ("model", "sql", "aggregates", "windowing", "check", "plan", "lineage", "changes")
IMPURE_MODULES = {"os", "time", "socket", "subprocess", "random", "secrets", "uuid", "urllib", "http", "threading", "tempfile", "shutil"}
WALL_CLOCK = {"now", "utcnow", "today"}

# What Spark does not promise is touched here only.
# The second one reaches Hadoop's file systems, also where there is no Spark session.
DOORS = {"spark.internals", "storage.jvm"}
PRIVATE_OF_SPARK = {
    "_jvm",
    "_jdf",
    "_jc",
    "_jsc",
    "_jsparkSession",
    "_jconf",
    "_jreader",
    "_jwrite",
    "_jsq",
    "_sc",
    "_gateway",
    "_jcol",
    "_jmap",
}
PRIVATE_MODULES = ("pyspark.sql.pandas.types", "pyspark.serializers", "pyspark.sql.udf", "pyspark.sql.classic")
JVM_CLASS = "org.apache.spark."
# The names of classes as values of Spark's own, public settings.
NAMES_CLASSES = {"spark.session"}

# The allocator is told by it, before anything else is loaded.
READS_ENVIRONMENT = {"settings", "java", "allocator"}


@dataclass(frozen=True)
class Module:
    """One source file: ``name`` is its dotted name without the leading ``windrow.``."""

    name: str
    tree: ast.Module

    @property
    def package(self) -> str:
        return line_of(self.name)

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


def line_of(name: str) -> str:
    """The package that a module belongs to: that with the longest name that has a line."""
    lines = [package for package in MAY_IMPORT if is_under(name, package)]
    return max(lines, key=len, default=name.partition(".")[0])


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
    return [
        *layer_faults(module),
        *room_faults(module),
        *library_faults(module),
        *purity_faults(module),
        *environment_faults(module),
        *door_faults(module),
    ]


def layer_faults(module: Module) -> Iterator[str]:
    if module.package not in MAY_IMPORT:
        yield f"{module.name}: package {module.package!r} has no line in MAY_IMPORT"
        return
    allowed = {module.package, *MAY_IMPORT[module.package]}
    for line, name in module.imports():
        if not is_under(name, "windrow"):
            continue
        target = name.removeprefix("windrow.")
        # Who may import a package may not therefore import what has a line of its own inside it.
        is_allowed = any(is_under(target, prefix) and is_under(prefix, line_of(target)) for prefix in allowed)
        if not is_allowed:
            yield f"{module.name}:{line} imports {name}, but {module.package} may import only {sorted(allowed)}"
        if module.package == "connectors" and crosses_connectors(module.name, target):
            yield f"{module.name}:{line} imports {name}: one connector must not know another"


def room_of(name: str) -> int | None:
    """The place of a module of ``spark`` among the rooms; None for those that stand outside of them."""
    inner = name.removeprefix("spark.")
    return next((place for place, room in enumerate(ROOMS) if any(is_under(inner, each) for each in room)), None)


def room_faults(module: Module) -> Iterator[str]:
    own = room_of(module.name) if module.package == "spark" else None
    if own is None:
        return
    for line, name in module.imports():
        target = name.removeprefix("windrow.")
        there = room_of(target) if is_under(target, "spark") else None
        opened = any(module.name == f"spark.{one}" and is_under(target, f"spark.{other}") for one, other in ACROSS_ROOMS)
        if there is not None and there > own and not opened:
            yield f"{module.name}:{line} imports {name}, but its room comes before that one (see ROOMS)"


def crosses_connectors(importer: str, target: str) -> bool:
    here, there = importer.split("."), target.split(".")
    # What several connectors share is no connector: it has no spec.
    folders = {path.parent.name for path in (SRC / "windrow" / "connectors").glob("*/spec.py")}
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


def door_faults(module: Module) -> Iterator[str]:
    """Only one package touches what Spark does not promise: Java objects behind PySpark, its private names, and classes of the JVM."""
    if module.package in DOORS or module.name in DOORS:
        return
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE_OF_SPARK and not _is_own(node):
            yield f"{module.name}:{node.lineno} uses {node.attr}: only {sorted(DOORS)} touch what Spark does not promise"
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and JVM_CLASS in node.value and module.name not in NAMES_CLASSES:
            yield f"{module.name}:{node.lineno} names a class of Spark's: only {sorted(DOORS)} do"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("getattr", "hasattr", "setattr"):
            asked = {one.value for one in node.args[1:2] if isinstance(one, ast.Constant)} & {*PRIVATE_OF_SPARK, "_origin"}
            if asked:
                yield f"{module.name}:{node.lineno} asks for {asked}: only {sorted(DOORS)} touch what Spark does not promise"
    for line, name in module.imports():
        private = name.startswith("pyspark.") and any(part.startswith("_") for part in name.split("."))
        if private or name.startswith(PRIVATE_MODULES):
            yield f"{module.name}:{line} imports {name}: only {sorted(DOORS)} touch what Spark does not promise"


def _is_own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_module_keeps_the_import_rules(module: Module) -> None:
    assert faults(module) == []


def test_the_layers_go_one_way() -> None:
    order = list(MAY_IMPORT)
    for package, allowed in MAY_IMPORT.items():
        for target in allowed:
            assert order.index(line_of(target)) < order.index(package), f"{package} may import {target}, which is not above it"


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
        ("spark.internals.jvm", "from windrow.spark.query.runner import LazyRelation", "may import only"),
        ("connectors.zones", "from windrow.spark.session import make_session", "may import only"),
        ("spark.query.runner", "plan = frame._jdf.logicalPlan()", "what Spark does not promise"),
        ("connectors.kafka.source", "java = getattr(error, '_origin', None)", "what Spark does not promise"),
        ("connectors.streaming", "from pyspark.util import _load_from_socket", "what Spark does not promise"),
        ("jobs.runner", "jvm.load('org.apache.spark.sql.execution.ProjectExec')", "names a class of Spark's"),
        ("jobs.failures", "from py4j.protocol import Py4JError", "which only ['spark.internals', 'storage'] may"),
        ("spark.scan.row_reader", "from windrow.spark.operators.read import ReadOperator", "its room comes before"),
        ("spark.operators.read", "from windrow.spark.execution.executor import BatchExecutor", "its room comes before"),
    ],
)
def test_a_broken_rule_is_seen(name: str, text: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("memory", "files"):
        (tmp_path / "windrow" / "connectors" / folder).mkdir(parents=True)
        (tmp_path / "windrow" / "connectors" / folder / "spec.py").touch()
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


def loaded_by(*words: str) -> set[str]:
    code = f"""
import sys
from windrow.cli.main import main

sys.argv = {["windrow", *words]!r}
try:
    main()
except SystemExit as end:
    assert not end.code
"""
    return loaded_after(code)


# What a running job needs, and what is served, logged and traced beside it.
RUNS = {"pyspark", "py4j", "polars", "pyarrow", "pandas", "numpy", "confluent_kafka", "psycopg"}
TELLS = {"structlog", "prometheus_client", "opentelemetry", "grpc", "google", "uvicorn", "starlette", "fastapi", "http", "asyncio"}


def test_help_imports_next_to_nothing() -> None:
    assert not (RUNS | TELLS | {"sqlglot", "typer", "click", "rich", "pydantic"}) & loaded_by("--help")


def test_checking_a_file_imports_nothing_that_runs_it(tmp_path: Path) -> None:
    path = tmp_path / "q.sql"
    path.write_text(
        "CREATE STREAM t (k STRING, v INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in', 'event.time.field' = 'ts');"
        "SELECT k, SUM(v) AS v, BIT_OR(v) AS bits, STDDEV(v) AS spread, MIN_BY(v, ts) AS first FROM t GROUP BY k WINDOW TUMBLING(1m);"
        "SELECT a.k FROM t a JOIN t b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 MINUTE;"
    )
    assert not (RUNS | (TELLS - {"http", "asyncio"}) | {"rich"}) & loaded_by("check", str(path))


def test_the_package_itself_imports_nothing_heavy() -> None:
    assert not {"pyspark", "polars", "pyarrow", "sqlglot"} & loaded_after("import windrow")
