"""Rows of text take a number along instead of the name of their file: whoever looks at the name sees the name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.memory.runtime import SINKS
from windrow.jobs.letters import read_letters

AT = 1_700_000_000_000
# Spaces, signs of addresses, and letters beyond ASCII.
NAMES = ("plain.json", "a b+c%20d.json", "größe#1.json")
SOURCE = """
CREATE STREAM {name} (k STRING, v INT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}', 'format' = 'json', 'files.per_batch' = '{per_batch}',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '0s');
"""
WINDOW = "CREATE STREAM {out} AS SELECT k, SUM(v) AS total FROM {name} GROUP BY k WINDOW TUMBLING(10s) WITH ('connector' = 'memory');"
FILTER = "CREATE STREAM {out} AS SELECT k, v FROM {name} WHERE v > 0 WITH ('connector' = 'files', 'path' = '{to}', 'format' = 'json');"


def _write(folder: Path, second: int = 0) -> None:
    """Each file has a good row, a broken one and one that is late, which is found out from the second batch on."""
    folder.mkdir()
    for number, name in enumerate(NAMES):
        good = {"k": "a", "v": number, "ts": AT + 60_000 * (number + 1)}
        late = {"k": name, "v": number, "ts": AT}
        path = folder / name
        path.write_text("\n".join([json.dumps(good), f"broken {name}", json.dumps(late)]))
        os.utime(path, (1_700_000_000 + second + number,) * 2)


def _letters(spark: SparkSession, tmp_path: Path, sql: str) -> list[dict[str, Any]]:
    jobs = windrow.run(sql, spark=spark, mode="once", state=tmp_path / "state")
    assert jobs.await_end(120)
    assert all(status.ledger.is_balanced for status in jobs.status())
    return [dict(letter) for job in read_letters(tmp_path / "state") for letter in job.records]


def _topics(letters: list[dict[str, Any]], code: str, source: str = "s") -> list[str]:
    return sorted(letter["topic"] for letter in letters if letter["code"] == code and letter["source"] == source)


def _paths(folder: Path, names: tuple[str, ...] = NAMES) -> list[str]:
    return sorted(f"file:{folder}/{name}" for name in names)


@pytest.mark.parametrize("per_batch", [1, 2])
def test_a_window_names_the_files_of_its_dead_letters(spark: SparkSession, tmp_path: Path, per_batch: int) -> None:
    _write(tmp_path / "in")
    sql = SOURCE.format(name="s", folder=tmp_path / "in", per_batch=per_batch) + WINDOW.format(out="out", name="s")
    letters = _letters(spark, tmp_path, sql)
    assert _topics(letters, "WR701") == _paths(tmp_path / "in")
    assert _topics(letters, "WR705") == _paths(tmp_path / "in", NAMES[per_batch:])
    assert all(letter["raw"].decode() == f"broken {Path(letter['topic']).name}" for letter in letters if letter["code"] == "WR701")


def test_so_does_a_filter_whose_sink_counts_its_rows(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path / "in")
    sql = SOURCE.format(name="s", folder=tmp_path / "in", per_batch=2) + FILTER.format(out="out", name="s", to=tmp_path / "out")
    assert _topics(_letters(spark, tmp_path, sql), "WR701") == _paths(tmp_path / "in")


def test_several_sources_in_one_query_keep_theirs(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path / "in")
    _write(tmp_path / "other", second=1)
    sources = [SOURCE.format(name=name, folder=tmp_path / folder, per_batch=1) for name, folder in (("s", "in"), ("t", "other"))]
    join = (
        "CREATE STREAM both AS SELECT s.k, s.v, t.v AS w FROM s JOIN t ON s.k = t.k AND t._event_time BETWEEN s._event_time AND "
        "s._event_time + INTERVAL '5' SECOND WITH ('connector' = 'memory');"
    )
    letters = _letters(spark, tmp_path, "".join(sources) + join)
    assert _topics(letters, "WR701") == _paths(tmp_path / "in")
    assert _topics(letters, "WR701", "t") == _paths(tmp_path / "other")


def test_a_statement_that_asks_for_the_name_sees_it(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path / "in")
    sql = SOURCE.format(name="s", folder=tmp_path / "in", per_batch=2) + (
        "CREATE STREAM named AS SELECT _topic AS name, COUNT(*) AS n FROM s GROUP BY _topic WINDOW TUMBLING(1h) EMIT CHANGES PER BATCH "
        "WITH ('connector' = 'memory');"
    )
    letters = _letters(spark, tmp_path, sql)
    assert _topics(letters, "WR701") == _paths(tmp_path / "in")
    assert sorted((row["name"], row["n"]) for row in SINKS["named"].rows()) == [(path, 2) for path in _paths(tmp_path / "in")]
