"""The page of what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tools.reference.markdown import NOTICE, TESTS, code, table
from windrow.aggregates import find_aggregate
from windrow.catalog.functions import FunctionKind, functions, usable_functions
from windrow.check.rules.unsupported import GAPS
from windrow.connectors.registry import CONNECTORS
from windrow.model.expr import Call, Literal
from windrow.sql.groupings import ASKED

_ABOUT = (
    "The dialect knows more than the engine runs. What it knows and does not run is refused with `WR290` before anything starts; "
    "it is never ignored. This page is made from the list by which the check refuses."
)


def support_page() -> str:
    parts = [
        "# What is not supported yet",
        NOTICE,
        _ABOUT,
        "## Refused with WR290",
        table(("what", "instead"), ((_plain_gap(gap.what), gap.hint) for gap in GAPS)),
        "Some forms of [joins](joins.md) are refused the same way.",
        "## Aggregates of Spark that are refused",
        "`DISTINCT` in those of two arguments, `COUNT_IF`, `LAST`, `LATEST`, `MODE`, `TRY_SUM` and percentiles with `WITHIN GROUP`, and: "
        + ", ".join(code(name.upper()) for name in missing_aggregates())
        + ". Without `DISTINCT` they may stand before `OVER`.",
        "## Functions of Spark that are refused",
        refused_functions() + ".",
        "## Connectors",
        f"There are {_listed(CONNECTORS)}. Any other name after `'connector' =` is refused with `WR263`.",
        "## Cases that wait for it",
        "Cases of the conformance suite that are refused today:",
        "\n".join(f"- `{name}`: `{sql}`" for name, sql in gap_cases()) or "None.",
    ]
    return "\n\n".join(parts) + "\n"


def _plain_gap(what: str) -> str:
    plain = what.removesuffix(" are").removesuffix(" is").rstrip(",")
    return {
        "this aggregate, or DISTINCT in it": "some of Spark's aggregates, and DISTINCT in others: listed below",
        "this function of Spark": "other functions of Spark, listed below",
    }.get(plain, plain)


def _listed(names: Iterable[str]) -> str:
    words = [code(name) for name in names]
    return ", ".join(words[:-1]) + " and " + words[-1]


def missing_aggregates() -> list[str]:
    return sorted(
        f.name
        for f in usable_functions().values()
        if f.kind is FunctionKind.AGGREGATE and find_aggregate(Call(f.name, (Literal(1),) * (f.counts or (1,))[0])) is None
    )


def gap_cases() -> list[tuple[str, str]]:
    names = [line for line in (TESTS / "conformance" / "gaps.txt").read_text().splitlines() if line and not line.startswith("#")]
    cases = [
        json.loads(line) for path in sorted((TESTS / "conformance" / "cases").glob("*.jsonl")) for line in path.read_text().splitlines()
    ]
    return [(case["name"], case["sql"]) for case in cases if case["name"] in names]


def refused_functions() -> str:
    """Those of Spark that no query can use. What a query of several groupings may ask is no function any more when it is checked."""
    usable = {*usable_functions(), *ASKED}
    return ", ".join(code(name) for name in sorted(functions()) if name not in usable)
