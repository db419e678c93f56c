"""One side of ``benchmarks.checkouts``: runs queries with the windrow that the environment has, and prints as JSON what they cost.

That is, for each, seconds for a million rows: by the clock, and of processors. It uses only what every version offers
(``windrow.compile``, ``windrow.run``), because it runs in other checkouts, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import windrow

WINDOWS = {"tumbling": "TUMBLING(1m)", "sliding": "SLIDING(15m, 1m)", "session": "SESSION(30s)", "changes": "TUMBLING(1m) EMIT CHANGES"}
ROWS_A_FILE = 500_000


def main() -> None:
    rows, queries, formats = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3].split(",")
    work = Path(tempfile.gettempdir()) / "windrow-checkouts"
    costs = {}
    for format_ in formats:
        source = _rows(work / f"{format_}-{rows}", format_, rows)
        for query in queries:
            _run(source, format_, WINDOWS[query], work / "run")  # the first run of a process compiles
            runs = [_run(source, format_, WINDOWS[query], work / "run") for _ in range(2)]
            costs[f"{query} {format_}"] = [min(each) / rows * 1e6 for each in zip(*runs, strict=True)]
    print(json.dumps(costs))


def _run(source: Path, format_: str, window: str, work: Path) -> tuple[float, float]:
    shutil.rmtree(work, ignore_errors=True)
    sql = f"""CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT) WITH ('connector' = 'files', 'path' = '{source}',
        'format' = '{format_}', 'files.per_batch' = '2', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis',
        'watermark.delay' = '5s');
      CREATE STREAM out AS SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(volume) AS v, MIN(price) AS low, MAX(price) AS high
        FROM trades GROUP BY symbol WINDOW {window} WITH ('connector' = 'files', 'path' = '{work}/out', 'format' = 'parquet');"""
    compiled = windrow.compile(sql)
    started, busy = time.monotonic(), _processor_seconds()
    jobs = windrow.run(compiled, mode="once", state=str(work / "state"), spark=_session())
    jobs.await_end()
    assert jobs.status()[0].ledger.is_balanced
    return time.monotonic() - started, _processor_seconds() - busy


def _processor_seconds() -> float:
    """Of this process and of all that came of it, Spark's Java and its workers; also of those that have ended."""
    stats = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The name of a program may hold anything: what follows its last parenthesis is numbers.
            fields = stat.read_text().rpartition(")")[2].split()
            stats[int(stat.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    ours, known = {os.getpid()}, 0
    while len(ours) != known:
        known = len(ours)
        ours |= {pid for pid, (parent, _) in stats.items() if parent in ours}
    return sum(stats[pid][1] for pid in ours) / os.sysconf("SC_CLK_TCK")


def _session() -> object:
    from windrow.spark.session import make_session

    return make_session("local[2]", {"spark.driver.memory": "4g"})


def _rows(folder: Path, format_: str, rows: int) -> Path:
    if (folder / "_DONE").exists():
        return folder
    import polars as pl

    folder.mkdir(parents=True, exist_ok=True)
    for number in range(rows // ROWS_A_FILE):
        at = pl.int_range(number * ROWS_A_FILE, (number + 1) * ROWS_A_FILE, eager=True)
        frame = pl.DataFrame(
            {
                "symbol": pl.Series([f"S{key:04d}" for key in range(1000)]).gather((at * 7919) % 1000),
                "price": (at % 10_000) / 100,
                "volume": at % 50,
                # A second of disorder, and one row in ten thousand an hour late.
                "ts": 1_700_000_000_000 + at - (at * 31) % 1000 - 3_600_000 * (at % 10_000 == 9_999).cast(pl.Int64),
            }
        )
        path = folder / f"part-{number:05d}.{format_}"
        frame.write_parquet(path) if format_ == "parquet" else frame.write_ndjson(path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (folder / "_DONE").touch()
    return folder


if __name__ == "__main__":
    main()
