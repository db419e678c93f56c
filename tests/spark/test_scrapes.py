"""At any moment of a run, what a scrape says of rows adds up: in every source, statement and operator."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

import windrow
from windrow.observe.instruments import INSTRUMENTS

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE NOT NULL, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s');
CREATE STREAM dear AS SELECT symbol, price FROM trades WHERE price > 5
  WITH ('connector' = 'files', 'path' = '{folder}/dear', 'format' = 'json');
CREATE STREAM candles AS SELECT symbol, COUNT(*) AS n FROM trades WHERE price > 1
  GROUP BY symbol WINDOW TUMBLING(10s) ALLOWED_LATENESS 15s;
CREATE STREAM minutes AS SELECT symbol, SUM(n) AS n FROM candles GROUP BY symbol WINDOW TUMBLING(1m)
  WITH ('connector' = 'files', 'path' = '{folder}/minutes', 'format' = 'json');
"""
# Whose rows each operator takes.
INPUTS = {"dear": "trades", "candles": "trades", "minutes": "candles"}
BATCHES = 6
Found = dict[str, dict[tuple[str, ...], float]]


def _write(folder: Path) -> None:
    (folder / "in").mkdir()
    for number in range(BATCHES):
        rows = [json.dumps({"symbol": "AB"[i % 2], "price": i % 9, "ts": (number * 20 + i) * 1000}) for i in range(20)]
        rows += ["no row", json.dumps({"symbol": "C", "price": None, "ts": 1})]
        # Too late for its window, and late enough for a correction.
        rows += [json.dumps({"symbol": "A", "price": 8, "ts": max(0, number * 20 - back) * 1000}) for back in (60, 12)]
        path = folder / "in" / f"{number}.json"
        path.write_text("\n".join(rows) + "\n")
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def _scrape(address: str) -> Found:
    with urllib.request.urlopen(f"{address}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    found: Found = defaultdict(dict)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            name = sample.name.removeprefix("windrow_")
            # The text has labels in the order of their names; the list of metrics says which comes first here.
            order = INSTRUMENTS[name].labels if name in INSTRUMENTS else tuple(label for label in sample.labels if label != "job_name")
            found[name][tuple(sample.labels[label] for label in order)] = sample.value
    return found


def _check(found: Found) -> None:
    def aside(name: str) -> float:
        dead, back, dropped = (found[metric] for metric in ("dead_letters_total", "dead_letters_replayed_total", "dropped_events_total"))
        return sum(
            sign * count for part, sign in ((dead, 1), (back, -1), (dropped, 1)) for labels, count in part.items() if labels[0] == name
        )

    assert found["ledger_balanced"][()] == 1
    for (source,), rows in found["rows_in_total"].items():
        assert rows == found["rows_passed_total"][source,] + aside(source)
    for (statement,), rows in found["statement_rows_in_total"].items():
        assert rows == found["statement_rows_passed_total"][statement,] + found["rows_filtered_total"][statement,] + aside(statement)
        assert rows == found["operator_rows_in_total"][statement,] == found["operator_rows_out_total"][INPUTS[statement],]
        emitted = sum(count for labels, count in found["rows_emitted_total"].items() if labels[0] == statement)
        assert emitted == found["operator_rows_out_total"][statement,]


def test_every_scrape_of_a_running_job_adds_up(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path)
    jobs = windrow.run(SQL.format(folder=tmp_path), spark=spark, state=tmp_path / "state", listen="127.0.0.1:0")
    scraped: list[Found] = []
    deadline = time.monotonic() + 300
    try:
        assert jobs.address is not None
        while not scraped or scraped[-1]["rows_in_total"].get(("trades",)) != 24 * BATCHES:
            assert time.monotonic() < deadline, jobs.status()
            scraped.append(_scrape(jobs.address))
    finally:
        jobs.stop()
    told = [found for found in scraped if found["statement_rows_in_total"]]
    for found in told:
        _check(found)
    assert len({found["rows_in_total"]["trades",] for found in told}) > 2, "the job was looked at between its batches"
    for before, after in pairwise(told):
        counters = [(name, labels) for name in before if name.endswith("_total") for labels in before[name]]
        assert all(after[name].get(labels, 0) >= before[name][labels] for name, labels in counters)
    last = told[-1]
    assert {labels: count for labels, count in last["dead_letters_total"].items() if labels[0] == "trades"} == {
        ("trades", "WR701"): BATCHES,
        ("trades", "WR702"): BATCHES,
    }
    assert last["late_events_total"]["candles", "corrected"] > 0
    assert last["late_events_total"]["candles", "dead"] > 0
    assert last["rows_emitted_total"]["candles", "late"] > 0
    assert last["rows_emitted_total"]["dear", ""] == last["statement_rows_passed_total"]["dear",]
