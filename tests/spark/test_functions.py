"""Every example of docs/functions.md, through the dialect and the engine."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tools.reference.calls import ONE_ROW, PRELUDE, SAMPLES, Example, Value, load, save, with_result
from windrow.compiler import compile_script
from windrow.sql import parse
from windrow.testing.engine import DirectEngine

# Few enough that Spark still compiles the query, and that its error is about something one can find.
MOST_IN_ONE_QUERY = 60
ROWS = [("one", ONE_ROW), *(("samples", row) for row in SAMPLES)]


def queries(examples: Sequence[Example]) -> Iterator[tuple[Example, ...]]:
    """Examples that read the same go into one query."""
    by_source = groupby(sorted(examples, key=lambda each: each.source), key=lambda each: each.source)
    for _, same in by_source:
        together = tuple(same)
        yield from (together[i : i + MOST_IN_ONE_QUERY] for i in range(0, len(together), MOST_IN_ONE_QUERY))


def results(spark: SparkSession, examples: Sequence[Example], folder: Path) -> list[list[Value]]:
    """What each call gives for each row, as text."""
    items = ", ".join(f"CAST(({example.call}) AS STRING) AS c{i}" for i, example in enumerate(examples))
    script = parse(f"{PRELUDE} SELECT {items} FROM {examples[0].source}", "examples", {})
    engine = DirectEngine(spark, compile_script(script, bare_sink="memory"), (0,), folder, "resident")
    engine.feed(ROWS)
    engine.end()
    rows = engine.finish().rows_of("out")
    return [[row[f"c{i}"] for row in rows] for i in range(len(examples))]


def is_same(expected: Value, actual: Value) -> bool:
    if expected == actual or expected is None or actual is None:
        return expected == actual
    try:
        return math.isclose(float(expected), float(actual), rel_tol=1e-6)
    except ValueError:
        return False


@pytest.mark.skipif("WINDROW_UPDATE" not in os.environ, reason="only when asked to update")
def test_update(spark: SparkSession, tmp_path: Path) -> None:
    groups = queries(list(load().values()))
    save(with_result(each, values) for group in groups for each, values in zip(group, results(spark, group, tmp_path), strict=True))


@pytest.mark.parametrize("examples", list(queries(list(load().values()))), ids=lambda group: f"{group[0].name}-{group[-1].name}")
def test_calls_give_what_the_page_says(spark: SparkSession, tmp_path: Path, examples: Sequence[Example]) -> None:
    found = dict(zip(examples, results(spark, examples, tmp_path), strict=True))
    wrong = {
        each.call: (each.gives, values)
        for each, values in found.items()
        if len(values) != len(each.gives) or not all(map(is_same, each.gives, values))
    }
    assert wrong == {}
