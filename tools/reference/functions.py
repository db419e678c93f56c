"""The page of functions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from tools.reference import calls
from tools.reference.markdown import NOTICE, ROOT, code, table
from windrow.aggregates.registry import AGGREGATES
from windrow.catalog.functions import Function, FunctionKind, usable_functions
from windrow.catalog.own_functions import OWN_FUNCTIONS

_ABOUT_FUNCTIONS = (
    "Names are case-insensitive. Argument counts and types are checked before anything runs. Scalar functions and those before "
    "`OVER` are computed by Spark, so they mean what Spark SQL says."
)
_ABOUT_SAMPLES = (
    "Every function has an example here, with what it gives as text. Each is run by a test. Aggregates are over one window "
    "(`WINDOW TUMBLING(1m)`) of these rows of a stream `samples`, and a call with `OVER` gives one value for each of them, in this order:"
)
_ABOUT_OWN = (
    "The row of the examples has one header, `region`, with the value `eu`. Windows hold the sample rows, which begin at "
    "1970-01-01 00:00:01."
)
_ABOUT_GENERATORS = (
    "In `LATERAL VIEW` or `UNNEST`; `explode` alone in the select list too. See [several rows of one](sql.md#several-rows-of-one)."
)
_ABOUT_AGGREGATES = (
    "In `GROUP BY`, `WINDOW` and before `OVER`. They skip NULLs, `FIRST` and `LAST` too; `COUNT(*)` counts rows. `DISTINCT` works "
    "in all but those of two arguments, `COUNT_IF`, `LAST`, `LATEST`, `MODE`, `TRY_SUM` and the percentiles that have `WITHIN GROUP`."
)
_TITLES = {
    "string_funcs": "Text", "math_funcs": "Numbers", "datetime_funcs": "Dates and times", "conditional_funcs": "Conditions",
    "predicate_funcs": "Comparisons and predicates", "conversion_funcs": "Conversion", "json_funcs": "JSON", "csv_funcs": "CSV",
    "xml_funcs": "XML", "array_funcs": "Arrays", "map_funcs": "Maps", "struct_funcs": "Structs", "collection_funcs": "Collections",
    "lambda_funcs": "Functions over elements", "variant_funcs": "VARIANT", "url_funcs": "URLs", "hash_funcs": "Hashes",
    "bitwise_funcs": "Bits", "vector_funcs": "Vectors", "st_funcs": "Geometry", "sketch_funcs": "Sketches", "misc_funcs": "Others",
}  # fmt: skip


def functions_page() -> str:
    examples, known = calls.load(), usable_functions()
    groups = _groups(known)
    only_over = [f for f in known.values() if f.kind is FunctionKind.AGGREGATE and f.name.upper() not in AGGREGATES]

    def section(title: str, rows: Iterable[Function], about: str = "") -> str:
        return "\n\n".join(part for part in (f"## {title}", about, _function_table(rows, examples)) if part)

    parts = [
        "# Functions",
        NOTICE,
        _ABOUT_FUNCTIONS,
        _ABOUT_SAMPLES,
        table(("k", "v", "w", "ok"), ((str(row[key]).lower() for key in ("k", "v", "w", "ok")) for row in calls.SAMPLES)),
        section("The dialect's own", (f for f in OWN_FUNCTIONS if f.kind is FunctionKind.SCALAR), _ABOUT_OWN),
        section("Aggregates", (known[name.lower()] for name in sorted(AGGREGATES)), _ABOUT_AGGREGATES),
        section("Aggregates that stand before OVER only", only_over, "In `GROUP BY` and `WINDOW` they are refused."),
        section("Window functions", _of_kind(known, FunctionKind.WINDOW), "Before `OVER (...)`, where every aggregate may stand too."),
        section("Functions that give several rows", _of_kind(known, FunctionKind.GENERATOR), _ABOUT_GENERATORS),
        *(section(title, groups[group]) for group, title in _TITLES.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _of_kind(known: Mapping[str, Function], kind: FunctionKind) -> list[Function]:
    return [function for function in known.values() if function.kind is kind]


def _groups(known: Mapping[str, Function]) -> dict[str, list[Function]]:
    """Spark's scalar functions by the group it files them under; the words of CASE have none."""
    data = json.loads((ROOT / "src" / "windrow" / "catalog" / "functions.json").read_text(encoding="utf-8"))
    own = {function.name for function in OWN_FUNCTIONS}
    found: dict[str, list[Function]] = {}
    for name, entry in sorted(data.items()):
        if name in known and name not in own and known[name].kind is FunctionKind.SCALAR:
            found.setdefault(entry["group"] or "conditional_funcs", []).append(known[name])
    return found


def _function_table(rows: Iterable[Function], examples: Mapping[str, calls.Example]) -> str:
    return table(
        ("function", "gives", "example", "result"),
        ((code(f.signature), f.doc.rstrip("."), code(examples[f.name].shown_call), code(examples[f.name].shown_result)) for f in rows),
    )
