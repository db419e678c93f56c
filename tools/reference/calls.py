"""The examples of docs/functions.md: one call and its result for every function that a query can use.

They are in docs/reference/functions.json; those of aggregates that say themselves what they are, beside the aggregate.
``WINDROW_UPDATE=1 pytest tests/spark/test_functions.py`` writes what the calls give now into the file, to be reviewed as a diff.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tools.reference.markdown import DOCS
from windrow.aggregates import AGGREGATES, Aggregate

DATA = DOCS / "reference" / "functions.json"
ONE, ROWS, WINDOW = "one", "samples", "samples WINDOW TUMBLING(1m)"
SAMPLES: tuple[Mapping[str, Any], ...] = (
    {"k": "a", "v": 1, "w": 2.0, "ok": True, "_ts": 1000},
    {"k": "b", "v": 2, "w": 4.0, "ok": False, "_ts": 2000},
    {"k": "b", "v": 2, "w": 6.0, "ok": True, "_ts": 3000},
    {"k": "c", "v": 5, "w": 10.0, "ok": True, "_ts": 4000},
)
PRELUDE = """
CREATE STREAM one (x INT) WITH ('connector' = 'memory', 'headers' = 'true');
CREATE STREAM samples (k STRING, v BIGINT, w DOUBLE, ok BOOLEAN) WITH ('connector' = 'memory');
"""
# Any number of rows would do: the calls say nothing about them, but for their header.
ONE_ROW: Mapping[str, Any] = {"x": 1, "_headers": {"region": "eu"}}

Value = str | None


@dataclass(frozen=True)
class Example:
    """``gives`` is what the call puts out for each row, as text."""

    name: str
    call: str
    source: str
    gives: tuple[Value, ...]

    @property
    def shown_call(self) -> str:
        """The call alone where the page says what it reads, else the whole query."""
        return self.call if self.source == usual_source(self.name, self.call) else f"SELECT {self.call} FROM {self.source}"

    @property
    def shown_result(self) -> str:
        return ", ".join("NULL" if value is None else value for value in self.gives)


def usual_source(name: str, call: str) -> str:
    """What a call reads where its entry does not say: OVER all sample rows, an aggregate a window of them, any other one row."""
    if " OVER (" in call:
        return ROWS
    return WINDOW if name.upper() in AGGREGATES else ONE


def load() -> dict[str, Example]:
    entries = json.loads(DATA.read_text(encoding="utf-8"))
    own = {
        name.lower(): form.signature.example
        for name, form in AGGREGATES.items()
        if isinstance(form, Aggregate) and form.signature and form.signature.example
    }
    entries |= {name: {"call": call, "gives": gives} for name, (call, gives) in own.items()}
    return {name: _example(name, entry) for name, entry in sorted(entries.items())}


def _example(name: str, entry: Mapping[str, Any]) -> Example:
    gives = entry.get("gives", ())
    call = entry["call"]
    return Example(name, call, entry.get("from", usual_source(name, call)), tuple(gives) if isinstance(gives, list) else (gives,))


def save(examples: Iterable[Example]) -> None:
    kept = json.loads(DATA.read_text(encoding="utf-8"))
    listed = sorted((each for each in examples if each.name in kept), key=lambda each: each.name)
    lines = [f"{json.dumps(each.name)}: {json.dumps(_entry(each), ensure_ascii=False)}" for each in listed]
    DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _entry(example: Example) -> dict[str, Any]:
    source = {} if example.source == usual_source(example.name, example.call) else {"from": example.source}
    return {"call": example.call, **source, "gives": list(example.gives) if len(example.gives) > 1 else example.gives[0]}


def with_result(example: Example, values: Iterable[Value]) -> Example:
    """Fractions with ten digits: the last ones depend on the processor."""
    return replace(example, gives=tuple(_short(value) for value in values))


def _short(value: Value) -> Value:
    """Fewer digits of a long fraction.

    >>> _short("2.2499999999999996"), _short("7"), _short("2026-03-01")
    ('2.25', '7', '2026-03-01')
    """
    if value is None or "." not in value or len(value) < 15:
        return value
    try:
        return str(float(f"{float(value):.10g}"))
    except ValueError:
        return value
