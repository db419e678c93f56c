"""Writes src/windrow/catalog/functions.json: what the installed Spark says about each of its SQL functions.

Run it once for a new Spark release (it takes some minutes, because every fact is probed through Spark's own analyser):

    .venv/bin/python tools/generate_functions.py

For each function: the argument counts that Spark accepts, a one-line description, its kind, and how its result type follows from its
arguments. ``returns`` is a type, or ``{"arg": i}`` (the type of argument i), or ``{"by": i, "types": {...}}``, or null where unknown.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

OUT = Path(__file__).parents[1] / "src" / "windrow" / "catalog" / "functions.json"
# More arguments than any function with a fixed count takes, except the few listed by their signature.
MOST = 9
PROBED_POSITIONS = 3
TYPES = {
    "BOOLEAN": "c0",
    "TINYINT": "c1",
    "SMALLINT": "c2",
    "INT": "c3",
    "BIGINT": "c4",
    "FLOAT": "c5",
    "DOUBLE": "c6",
    "DECIMAL(10,2)": "c7",
    "STRING": "c8",
    "BINARY": "c9",
    "DATE": "c10",
    "TIMESTAMP": "c11",
    "ARRAY<INT>": "c12",
    "MAP<STRING,INT>": "c13",
}
# Beyond the first argument fewer types tell enough.
LATER_TYPES = ("BOOLEAN", "INT", "DOUBLE", "STRING", "TIMESTAMP", "ARRAY<INT>")
# Sketches and geometry: their results are binary or theirs alone, and probing them takes half of the time.
UNTYPED = ("kll_", "theta_", "tuple_", "hll_", "st_", "vector_", "xpath", "bitmap_", "approx_top_k", "reflect", "java_method")
WRONG_TYPE = "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"
FEW_WORDS = 4
ORDINALS = ("first", "second", "third")
KINDS = {"agg_funcs": "aggregate", "window_funcs": "window", "generator_funcs": "generator", "table_funcs": "table"}


def probe(spark: SparkSession, expression: str) -> tuple[str | None, str | None, dict[str, str]]:
    """Result type, or the error condition and its parameters."""
    try:
        return spark.sql(f"SELECT {expression} AS r FROM probe").schema[0].dataType.simpleString().upper(), None, {}
    except AnalysisException as error:
        return None, error.getCondition() or "?", dict(error.getMessageParameters() or {})
    except Exception:  # Spark's own faults come as py4j errors; they say nothing about the function
        return None, "?", {}


def call(name: str, args: list[str], kind: str) -> str:
    over = " OVER (ORDER BY c3)" if kind == "window" else ""
    return f"`{name}`({', '.join(args)}){over}"


REFUSALS = ("WRONG_NUM_ARGS", "REQUIRED_PARAMETER_NOT_FOUND", "PARSE")


def argument_counts(spark: SparkSession, name: str, kind: str) -> list[int]:
    """Spark names the counts it wants when given too many, but not always all: the smaller ones are tried."""
    _, condition, parameters = probe(spark, call(name, ["NULL"] * MOST, kind))
    expected = [int(count) for count in re.findall(r"\d+", parameters.get("expectedNum", ""))]
    is_fixed = condition is not None and condition.startswith(REFUSALS)
    most = max(expected, default=MOST - 1) if is_fixed else 3
    counts = set(expected) if is_fixed else {MOST}
    for count in range(most):
        if count not in counts:
            _, condition, _ = probe(spark, call(name, ["NULL"] * count, kind))
            if condition is None or not condition.startswith(REFUSALS):
                counts.add(count)
    return sorted(counts)


def result_types(spark: SparkSession, name: str, kind: str, count: int) -> tuple[dict[int, dict[str, str]], list[list[str]]]:
    """Per position: the result type for each argument type (others NULL), and the argument types Spark refuses there."""
    found: dict[int, dict[str, str]] = {}
    refused: list[list[str]] = []
    for position in range(min(count, PROBED_POSITIONS)):
        found[position] = {}
        refused.append([])
        for type_, column in TYPES.items():
            if position > 0 and type_ not in LATER_TYPES:
                continue
            args = ["NULL"] * count
            args[position] = column
            result, condition, parameters = probe(spark, call(name, args, kind))
            if condition and not condition.startswith(WRONG_TYPE):
                args[position] = f"CAST(NULL AS {type_})"
                result, condition, parameters = probe(spark, call(name, args, kind))
            if result is not None:
                found[position][type_] = result
            # The NULLs beside it may be what is refused: only Spark's word on this very argument counts.
            elif condition and condition.startswith(WRONG_TYPE) and parameters.get("paramIndex") == ORDINALS[position]:
                refused[position].append(type_)
    return found, refused


def rule(found: dict[int, dict[str, str]], plain: str | None) -> Any:
    results = {result for types in found.values() for result in types.values()} | ({plain} if plain else set())
    results.discard("VOID")
    if not results:
        return None
    if len(results) == 1 and "DECIMAL" not in next(iter(results)):
        return results.pop()
    for position, types in found.items():
        if types and all(result == type_ for type_, result in types.items()):
            return {"arg": position}
    for position, types in found.items():
        if len(set(types.values())) > 1:
            exact = {t: r for t, r in types.items() if ("DECIMAL" not in r or t == r) and r != "VOID"}
            return {"by": position, "types": exact}
    return None


def describe(spark: SparkSession, name: str) -> tuple[str, str, str]:
    """Signature, one-line description and group."""
    jvm: Any = spark._jvm  # the group of a function is not in the Python API
    identifier = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name)
    info = spark._jsparkSession.sessionState().catalog().lookupFunctionInfo(identifier)
    usage = " ".join(info.getUsage().replace("_FUNC_", name).split())
    signature, _, text = usage.partition(" - ")
    # Some usages list a second signature after the first description.
    description = re.split(rf"\.? (?={re.escape(name)}\()", text)[0]
    sentences = re.split(r"(?<=[a-z)`0-9])\. (?=[A-Z])", description)
    # "Returns a boolean." tells nothing by itself.
    told = sentences[:1] if len(sentences[0].split()) >= FEW_WORDS else sentences[:2]
    return signature.strip(), ". ".join(told).rstrip(". "), str(info.getGroup())


def facts(spark: SparkSession, name: str) -> dict[str, Any]:
    signature, doc, group = describe(spark, name)
    kind = KINDS.get(group, "scalar")
    counts = [] if kind == "table" else argument_counts(spark, name, kind)
    entry: dict[str, Any] = {"signature": signature, "doc": doc, "kind": kind, "group": group}
    entry["counts"] = counts[:-1] if counts and counts[-1] == MOST else counts
    entry["is_variadic"] = bool(counts) and counts[-1] == MOST
    if entry["is_variadic"]:
        entry["counts"] = counts[:1]
    typed = [] if name.startswith(UNTYPED) else [count for count in counts if count > 0 or counts == [0]]
    plains = [probe(spark, call(name, ["NULL"] * count, kind))[0] for count in typed[:2]]
    found, refused = result_types(spark, name, kind, typed[0]) if typed else ({}, [])
    entry["returns"] = rule(found, plains[0]) if typed else None
    if isinstance(entry["returns"], str) and any(plain not in (None, "VOID", entry["returns"]) for plain in plains):
        # The result depends on how many arguments there are.
        entry["returns"] = None
    if any(refused):
        entry["refuses"] = refused
    return entry


def main() -> None:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # every refused probe would be logged with its stack
    columns = ", ".join(f"CAST(NULL AS {type_}) AS {column}" for type_, column in TYPES.items())
    spark.sql(f"SELECT {columns} FROM range(1)").createOrReplaceTempView("probe")
    names = [row[0] for row in spark.sql("SHOW ALL FUNCTIONS").collect()]
    entries = {}
    for name in sorted(set(names)):
        if not re.fullmatch(r"[a-z_0-9]+", name):
            continue
        try:
            entries[name] = facts(spark, name)
        except Exception as error:  # one function Spark cannot look up must not lose the others
            print(f"{name}: left out, {type(error).__name__} {str(error)[:120]}")
    lines = [f"{json.dumps(name)}: {json.dumps(entry, sort_keys=True)}" for name, entry in entries.items()]
    OUT.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(entries)} functions -> {OUT}")


if __name__ == "__main__":
    main()
