"""What a feature touches, counted: the table in CONTRIBUTING.md is held to the source by the newest feature of each sort."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from windrow.aggregates import AGGREGATES, Aggregate
from windrow.connectors.registry import CONNECTORS
from windrow.model.window_kinds import KINDS, SPELLINGS, FixedKind
from windrow.plan import rewrites

SRC = Path(__file__).resolve().parents[2] / "src" / "windrow"
KINDS_FILE = "model/window_kinds.py"


def _sources() -> dict[str, str]:
    return {path.relative_to(SRC).as_posix(): path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}


def _code(text: str) -> str:
    """Without comments and docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body[0] = ast.Pass()
    return ast.unparse(tree)


def _imported(text: str) -> set[str]:
    return {alias.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_no_module_but_their_own_asks_which_kind_of_window_it_is() -> None:
    kinds = {kind.__name__ for kind in KINDS}
    asking = {
        name: found
        for name, text in _sources().items()
        if name != KINDS_FILE and "window_kinds" in text and (found := _imported(text) & kinds)
    }
    assert asking == {}, "ask for the family of a kind (FixedKind, MovingKind, CountedKind), or let the kind say it"


def test_a_window_kind_is_one_file_of_source() -> None:
    named = [name for name, text in _sources().items() if re.search("cumulate", text, re.IGNORECASE)]
    # Comments, docstrings and messages may speak of it; what it means is said once.
    assert [name for name in named if re.search(r"\bCumulate\b|\"CUMULATE|'CUMULATE", _code(_sources()[name]))] == [KINDS_FILE]


@pytest.mark.parametrize("name", [name for name, form in AGGREGATES.items() if isinstance(form, Aggregate) and form.signature is not None])
def test_an_aggregate_is_one_file_and_one_line(name: str) -> None:
    named = {
        # In capitals: the names of some are words that a sentence may hold.
        file: len(re.findall(rf'"{name}"', text))
        for file, text in _sources().items()
        if re.search(rf"\b{name}\b", text)
    }
    # PromQL has functions of the same names, which conditions of alerts call.
    named = {file: count for file, count in named.items() if file not in ("observe/promql.py", "check/rules/annotation.py")}
    assert named.pop("aggregates/registry.py") == 1
    assert len(named) == 1
    assert next(iter(named)).startswith("aggregates/")


def test_every_kind_says_all_that_is_asked_of_it() -> None:
    for kind in KINDS:
        assert SPELLINGS[kind.word] is kind
        assert kind.example.startswith(kind.word + "(")
        assert kind.takes
        methods = (
            "describe",
            "facts",
            "faults",
            "correction_span",
            *(("first_pane", "last_pane", "pane_step") if issubclass(kind, FixedKind) else ()),
        )
        for method in methods:
            defined = next(base for base in kind.__mro__ if method in vars(base))
            assert defined.__name__ not in ("WindowKind", "FixedKind") or method == "correction_span", f"{kind.__name__} has no {method}"


# Faces that are about one connector, and say so by their names: a broker of the machine, windows of telemetry, what a notebook shows.
ABOUT_ONE = {
    "kafka": {"cli/exporting.py", "jobs/letter_topic.py", "jobs/message_topic.py", "local/topics.py"},
    "otap": {"jobs/receivers.py", "jobs/window_queries.py"},
    "console": {"cli/demo.py", "cli/session.py", "jobs/rows.py"},
    "memory": {f"testing/{name}.py" for name in ("engine", "file_inputs", "inference", "streaming")},
}


@pytest.mark.parametrize("name", sorted(CONNECTORS.own()))
def test_a_connector_is_one_folder_and_one_line(name: str) -> None:
    line = re.compile(rf"^\s*(?:from|import) windrow\.connectors\.{name}\b", re.MULTILINE)
    importing = {file for file, text in _sources().items() if line.search(text) and not file.startswith(f"connectors/{name}/")}
    assert importing - ABOUT_ONE.get(name, set()) == {"connectors/registry.py"}


# Strings that are the name of a connector, where something is decided, and why they stand outside its folder.
NAMING = {
    "catalog/options.py": "where the rows of a bare SELECT go",
    "check/foreign_options.py": "how other engines call ours",
    "jobs/receivers.py": "commands about OTAP sources",
    "cli/sending.py": "small files of tables travel with a project",
    "testing/file_inputs.py": "rows of a case",
    "testing/inference.py": "rows of a case",
    # No connectors, but what has the same name: a group of commands, files of a project, a user and a database of a server,
    # a form of messages.
    "cli/commands.py": "groups of commands",
    "cli/project.py": "files of a project",
    "config/keys.py": "files of a project",
    "server/together.py": "files of a project",
    "connectors/kafka/sink_options.py": "a form of messages",
    "connectors/kafka/telemetry.py": "a form of messages",
    "otap/rebuild/export.py": "a form of messages",
    "local/postgres.py": "a user of a server",
}


def _deciding_strings(text: str) -> set[str]:
    """Strings that are compared with something, or that a module has a name for, by which they may be."""
    tree = ast.parse(text)
    values: list[ast.expr] = [each.value for each in tree.body if isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None]
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            values += [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            values.append(node.value)
    return {each.value for value in values for each in _members(value) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def _members(node: ast.expr) -> list[ast.expr]:
    """What a literal holds, however deep."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Call(func=ast.Name("frozenset"), args=parts):
            pass
        case ast.Dict(keys=keys, values=values):
            parts = [part for part in (*keys, *values) if part is not None]
        case _:
            return [node]
    return [each for part in parts for each in _members(part)]


def test_no_name_of_a_connector_decides_anything_outside_its_folder() -> None:
    names = CONNECTORS.own().keys()
    found = {file: names & _deciding_strings(text) for file, text in _sources().items()}
    naming = {file for file, own in found.items() if any(not file.startswith(f"connectors/{name}/") for name in own)}
    assert naming - NAMING.keys() == set(), "let its ConnectorSpec say what it is asked"
    assert NAMING.keys() - naming == set(), "no exception that nobody needs"


# What a clause of SELECT becomes, by the one that was added last.
QUALIFY = {
    "model/query.py",
    "sql/layout.py",
    "sql/window_functions.py",
    # It refuses the clause where it would be asked of each grouping.
    "sql/groupings.py",
    "catalog/clauses.py",
    "check/blocks.py",
    "check/rules/emission_group.py",
    "plan/selects.py",
    "plan/over.py",
    "plan/stages.py",
    "plan/explain_facts.py",
    "spark/operators/over_aggregate.py",
    # A query over tables is text of Spark's, whole.
    "spark/compile/query_text.py",
    "lineage/stages.py",
    "lineage/table_queries.py",
}


def _has_field(text: str, name: str) -> bool:
    nodes = list(ast.walk(ast.parse(text)))
    asked = any(isinstance(node, ast.Attribute) and node.attr == name for node in nodes)
    return asked or any(isinstance(node, ast.keyword) and node.arg == name for node in nodes)


def test_a_clause_is_known_where_it_is_read_checked_planned_and_run() -> None:
    declared = {"model/query.py", "plan/stages.py"}
    assert {file for file, text in _sources().items() if "qualify" in text and _has_field(text, "qualify")} | declared == QUALIFY


def test_the_planner_knows_rewrites_by_their_list_only() -> None:
    lists = (rewrites.SELECT_REWRITES, rewrites.SELECTED_REWRITES, rewrites.PLAN_REWRITES, rewrites.JOB_REWRITES)
    listed = [rewrite for each in lists for rewrite in each]
    assert all(rewrite.__doc__ for rewrite in listed)
    assert len({rewrite.__name__ for rewrite in listed}) == len(listed)
    made_in = {rewrite.__module__ for rewrite in listed} - {rewrites.__name__}
    for planner in ("planner", "job_grouping"):
        tree = ast.parse((SRC / "plan" / f"{planner}.py").read_text(encoding="utf-8"))
        assert not {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)} & made_in
