"""Writes the parts of the documentation that repeat what the code says: errors, gaps, functions, options, system columns.

    .venv/bin/python tools/generate_reference.py

Three pages are written whole. In others, what stands between ``<!-- generated: NAME -->`` and ``<!-- end -->`` is replaced. A test
compares the pages with what this would write.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from windrow.aggregates import find_aggregate
from windrow.aggregates.registry import AGGREGATES
from windrow.catalog.functions import Function, FunctionKind, functions
from windrow.catalog.options import QUERY_OPTIONS, SOURCE_OPTIONS, TABLE_OPTIONS
from windrow.catalog.own_functions import OWN_FUNCTIONS
from windrow.check.rules.unsupported import GAPS
from windrow.codes import ALL_CODES
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.jobs.options import RUN_SETTINGS
from windrow.model.expr import Call, Literal
from windrow.model.system import SYSTEM_COLUMNS, Origin

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
_REGION = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_NOTICE = "<!-- Written by tools/generate_reference.py: change the code, then run it again. -->"

_ABOUT_ERRORS = (
    "Every error has a code that never changes its meaning, the place in your own text where there is one, and one hint. "
    "`windrow check FILE --format json` gives the same to programs."
)
_ABOUT_GAPS = (
    "The dialect knows more than the engine runs. What it knows and does not run is refused with `WR290` before anything starts; "
    "it is never ignored. This page is made from the list by which the check refuses."
)
_ABOUT_FUNCTIONS = (
    "Names are case-insensitive. Argument counts and types are checked before anything runs. Scalar functions and those before "
    "`OVER` are computed by Spark, so they mean what Spark SQL says."
)
_ABOUT_AGGREGATES = (
    "In `GROUP BY`, `WINDOW` and before `OVER`. They skip NULLs, `FIRST` and `LAST` too; `COUNT(*)` counts rows. `DISTINCT` works "
    "in all but those of two arguments, `COUNT_IF`, `LAST`, `LATEST`, `MODE`, `TRY_SUM` and the percentiles that have `WITHIN GROUP`."
)


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a"], [["x | y"]]))
    | a |
    |---|
    | x \\| y |
    """
    names = list(heads)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines.extend("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows)
    return "\n".join(lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""


# Errors

_GROUPS = (
    ("WR1", "The text", "Found while a file is read, before any name is looked up. Exit code 2."),
    ("WR2", "Names, types and rules", "Found by the checks, before anything runs; all of a file at once. Exit code 2."),
    (
        "WR5",
        "Connectors",
        "Wrong options and missing folders are found when a job starts (exit code 2), the rest while it runs (exit code 1).",
    ),
    ("WR6", "Command line, settings and Java", "Exit code 2, except for Spark not starting (1)."),
    (
        "WR7",
        "Rows that were set aside",
        "No errors of a job: each stands for one row, in the [dead letters](bad-rows.md) or in the ledger's count.",
    ),
    (
        "WR8",
        "Jobs and their state",
        "See [operations](operations.md). Exit code 2 where a job does not start, 1 where a running one stops.",
    ),
    ("WR9", "Cases, and faults of Windrow", "See [testing](testing.md)."),
)


def errors_page() -> str:
    examples = error_examples()
    parts = [
        "# Errors",
        _NOTICE,
        _ABOUT_ERRORS,
    ]
    for prefix, title, about in _GROUPS:
        parts.append(f"## {title}\n{about}")
        for name, meaning in sorted(ALL_CODES.items()):
            if name.startswith(prefix):
                example = f"\n```text\n{examples[name]}\n```" if name in examples else ""
                parts.append(f"### {name}\n{meaning[0].upper()}{meaning[1:]}.{example}")
    return "\n\n".join(parts) + "\n"


def error_examples() -> dict[str, str]:
    """For each code the shortest text that a fixture shows for it, by itself."""
    found: dict[str, str] = {}
    for shown in _shown_by_fixtures():
        names = re.findall(r"^\[(WR\d+)\]", shown, re.MULTILINE)
        if len(names) == 1 and (names[0] not in found or len(shown) < len(found[names[0]])):
            found[names[0]] = shown
    return found


def _shown_by_fixtures() -> Iterator[str]:
    text = (TESTS / "unit" / "sql" / "errors.txt").read_text(encoding="utf-8")
    yield from (entry.partition("\n=>\n")[2].strip("\n") for entry in re.split(r"\n\n(?=.*(?:\n.+)*?\n=>\n)", text))
    for path in sorted((TESTS / "unit" / "check" / "diagnostics").glob("*.txt")):
        for block in ("\n" + path.read_text(encoding="utf-8")).split("\n==\n")[1:]:
            yield block.partition("\n--\n")[2].strip("\n")


# What is not supported yet


def support_page() -> str:
    parts = [
        "# What is not supported yet",
        _NOTICE,
        _ABOUT_GAPS,
        "## Refused with WR290",
        table(("what", "instead"), ((_plain_gap(gap.what), gap.hint) for gap in GAPS)),
        "Some forms of [joins](joins.md) are refused the same way.",
        "## Aggregates of Spark that are refused",
        "`DISTINCT` in those of two arguments, `COUNT_IF`, `LAST`, `LATEST`, `MODE`, `TRY_SUM` and percentiles with `WITHIN GROUP`, and: "
        + ", ".join(code(name.upper()) for name in missing_aggregates())
        + ".",
        "## Connectors",
        f"There are {_listed(CONNECTORS)}. Any other name after `'connector' =` is refused with `WR263`.",
        "## Cases that wait for it",
        "Cases of the conformance suite that are refused today:",
        "\n".join(f"- `{name}`: `{sql}`" for name, sql in gap_cases()) or "None.",
    ]
    return "\n\n".join(parts) + "\n"


def _plain_gap(what: str) -> str:
    plain = what.removesuffix(" are").removesuffix(" is").rstrip(",")
    return "some of Spark's aggregates, listed below" if plain == "this aggregate" else plain


def _listed(names: Iterable[str]) -> str:
    words = [code(name) for name in names]
    return ", ".join(words[:-1]) + " and " + words[-1]


def missing_aggregates() -> list[str]:
    return sorted(
        f.name
        for f in functions().values()
        if f.kind is FunctionKind.AGGREGATE and find_aggregate(Call(f.name, (Literal(1),) * (f.counts or (1,))[0])) is None
    )


def gap_cases() -> list[tuple[str, str]]:
    names = [line for line in (TESTS / "conformance" / "gaps.txt").read_text().splitlines() if line and not line.startswith("#")]
    cases = [
        json.loads(line) for path in sorted((TESTS / "conformance" / "cases").glob("*.jsonl")) for line in path.read_text().splitlines()
    ]
    return [(case["name"], case["sql"]) for case in cases if case["name"] in names]


# Functions

_TITLES = {
    "string_funcs": "Text", "math_funcs": "Numbers", "datetime_funcs": "Dates and times", "conditional_funcs": "Conditions",
    "predicate_funcs": "Comparisons and predicates", "conversion_funcs": "Conversion", "json_funcs": "JSON", "array_funcs": "Arrays",
    "map_funcs": "Maps", "struct_funcs": "Structs", "collection_funcs": "Collections", "lambda_funcs": "Functions over elements",
    "variant_funcs": "VARIANT", "url_funcs": "URLs", "hash_funcs": "Hashes", "bitwise_funcs": "Bits",
}  # fmt: skip


def functions_page() -> str:
    groups = _groups()
    known = functions()
    parts = [
        "# Functions",
        _NOTICE,
        _ABOUT_FUNCTIONS,
        "## The dialect's own",
        _function_table(f for f in OWN_FUNCTIONS if f.kind is FunctionKind.SCALAR),
        "## Aggregates",
        _ABOUT_AGGREGATES,
        _function_table(known[name.lower()] for name in sorted(AGGREGATES) if name.lower() in known),
        "## Window functions",
        "Before `OVER (...)`, where every aggregate above may stand too.",
        _function_table(f for f in known.values() if f.kind is FunctionKind.WINDOW and f.name in _WINDOW_FUNCTIONS),
        *(
            part
            for group, title in _TITLES.items()
            for part in (f"## {title}", _function_table(known[name] for name in groups[group] if known[name].kind is FunctionKind.SCALAR))
        ),
        "## Others",
        "Known to the checks and passed on to Spark: "
        + ", ".join(code(name) for group in sorted(groups) if group not in _TITLES and group not in _LEFT_OUT for name in groups[group])
        + ".",
    ]
    return "\n\n".join(parts) + "\n"


_WINDOW_FUNCTIONS = frozenset("row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value".split())
_LEFT_OUT = ("agg_funcs", "window_funcs", "generator_funcs", "table_funcs")


def _groups() -> dict[str, list[str]]:
    data = json.loads((ROOT / "src" / "windrow" / "catalog" / "functions.json").read_text(encoding="utf-8"))
    own = {function.name for function in OWN_FUNCTIONS}
    found: dict[str, list[str]] = {}
    for name, entry in sorted(data.items()):
        if name not in own:
            found.setdefault(entry["group"], []).append(name)
    return found


def _function_table(rows: Iterable[Function]) -> str:
    return table(("function", "gives"), ((code(f.signature), f.doc.rstrip(".")) for f in rows))


# Parts of other pages


def source_options() -> str:
    return option_table(SOURCE_OPTIONS)


def query_options() -> str:
    refused = {gap.what.split("'")[1] for gap in GAPS if gap.what.startswith("'") and "=" not in gap.what}
    return option_table(option for option in QUERY_OPTIONS if option.key not in refused)


def option_table(options: Iterable[OptionSpec]) -> str:
    return table(("key", "value", "default", "meaning"), (_option_row(option) for option in options))


def _option_row(option: OptionSpec) -> tuple[str, ...]:
    kind = ", ".join(code(choice) for choice in option.choices) if option.kind is OptionKind.CHOICE else option.kind.value
    example = f", such as {code(option.example)}" if option.example and option.kind is not OptionKind.CHOICE else ""
    default = "**required**" if option.is_required else code(repr(option.default)) if option.default is not None else ""
    return code(option.key), kind + example, default, option.doc


def connector_side(name: str, side: str) -> str:
    options: tuple[OptionSpec, ...] | None = getattr(CONNECTORS[name], side)
    return option_table(options or ())


def connector_overview() -> str:
    rows = ((code(spec.name), _side(spec.source), _side(spec.sink), spec.summary) for spec in CONNECTORS.values())
    return table(("connector", "reads", "writes", "what"), rows)


def _side(options: tuple[OptionSpec, ...] | None) -> str:
    return "" if options is None else "yes"


def system_columns() -> str:
    of = {Origin.ROW: "every row", Origin.WINDOW: "emissions of a window", Origin.EMISSION: "emissions of a window or group"}
    rows = ((code(c.name), code(str(c.type)), of[c.origin], c.meaning, code(c.example)) for c in SYSTEM_COLUMNS)
    return table(("column", "type", "on", "meaning", "example"), rows)


def run_settings() -> str:
    return table(
        ("key", "default", "meaning"),
        ((code(key), code(setting.default) if setting.default else "none", setting.meaning) for key, setting in RUN_SETTINGS.items()),
    )


def row_codes() -> str:
    from windrow.codes import ROW_CODES

    return table(("code", "because"), ((code(name), meaning) for name, meaning in ROW_CODES.items()))


# The corpus of examples

_TOPICS = {
    "trading": "Trading",
    "iot": "Devices and meters",
    "web": "Web analytics",
    "llm": "Operating language models",
    "otel": "OpenTelemetry",
    "nexmark": "Nexmark",
}


def corpus_index() -> str:
    """The queries of examples/corpus by topic, each with what its first comment says."""
    parts = []
    for topic, title in _TOPICS.items():
        queries = sorted(path for path in (ROOT / "examples/corpus" / topic).glob("*.sql") if not path.name.endswith(".batch.sql"))
        if not queries:
            continue
        rows = ((f"[{path.stem}](../examples/corpus/{topic}/{path.name})", _head_comment(path)) for path in queries)
        parts.append(f"### {title}\n{table(('query', 'what it is for'), rows)}")
    return "\n\n".join(parts)


def _head_comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = itertools.takewhile(lambda line: line.startswith("-- ") and not line.startswith("-- @"), lines)
    return " ".join(line.removeprefix("-- ") for line in head)


REGIONS: dict[str, Callable[[], str]] = {
    "source options": source_options,
    "query options": query_options,
    "connectors": connector_overview,
    "files source": lambda: connector_side("files", "source"),
    "files sink": lambda: connector_side("files", "sink"),
    "kafka source": lambda: connector_side("kafka", "source"),
    "generator source": lambda: connector_side("generator", "source"),
    "kafka sink": lambda: connector_side("kafka", "sink"),
    "otap source": lambda: connector_side("otap", "source"),
    "otlp sink": lambda: connector_side("otlp", "sink"),
    "console sink": lambda: connector_side("console", "sink"),
    "table options": lambda: option_table(TABLE_OPTIONS),
    "postgres source": lambda: connector_side("postgres", "source"),
    "postgres sink": lambda: connector_side("postgres", "sink"),
    "memory source": lambda: connector_side("memory", "source"),
    "system columns": system_columns,
    "run settings": run_settings,
    "row codes": row_codes,
    "corpus": corpus_index,
}
PAGES: dict[str, Callable[[], str]] = {"errors.md": errors_page, "support.md": support_page, "functions.md": functions_page}


def fill_regions(text: str) -> str:
    """The text with every generated region written anew."""
    return _REGION.sub(lambda match: f"{match[1]}{REGIONS[match['name']]()}\n{match[3]}", text)


def generate() -> dict[Path, str]:
    """Every page with generated parts, as it should be."""
    pages = {DOCS / name: make() for name, make in PAGES.items()}
    for path in sorted(DOCS.glob("*.md")):
        if path not in pages:
            before = path.read_text(encoding="utf-8")
            if _REGION.search(before):
                pages[path] = fill_regions(before)
    return pages


def main() -> None:
    for path, text in generate().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written")


if __name__ == "__main__":
    main()
