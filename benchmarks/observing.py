"""What it costs to be watched: the same batches with nobody looking, scraped every second with logs in JSON, traced too, with @metrics too.

``python -m benchmarks.observing [--rows 500000] [--batches 4] [--pairs 5]``; small batches: ``--rows 1000 --batches 40``. The ways take
turns in one session of Spark, and the ratio is the median over the turns: what the machine does meanwhile hits all of them. Run it on a
quiet machine. The collector that takes the spans is a thread of this process, so its work counts as well.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import windrow
from windrow.observe.logs import set_up
from windrow.spark.session import make_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.jobs import Jobs

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
{notes}CREATE STREAM candles AS SELECT symbol, COUNT(*) AS n, MAX(price) AS high FROM trades GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{out}', 'format' = 'json');
"""
NOTES = """-- @metric: candles_total
-- @metric_labels: symbol
-- @metric: candle_rows
-- @metric_type: histogram
-- @metric_field: n
-- @metric_buckets: 10, 100, 1000
"""
WAYS = ("nobody looks", "scraped and logged", "and traced", "and with @metrics")


def main() -> None:
    parser = argparse.ArgumentParser(description="What it costs to be watched.")
    parser.add_argument("--rows", type=int, default=500_000, help="rows in a batch")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--pairs", type=int, default=5, help="how often each way has its turn")
    options = parser.parse_args()
    spark = make_session(f"local[{os.cpu_count()}]", {})
    with tempfile.TemporaryDirectory(prefix="windrow-observing-") as root:
        folder = Path(root)
        _write(folder / "in", options.rows, options.batches)
        took: dict[str, list[float]] = {way: [] for way in WAYS}
        # The first turn of all pays for what Java compiles.
        _seconds(spark, folder, WAYS[0], 0)
        for turn in range(1, options.pairs + 1):
            for way in WAYS if turn % 2 else reversed(WAYS):
                took[way].append(_seconds(spark, folder, way, turn))
    spark.stop()
    _print(took, options.rows, options.batches)


def _print(took: dict[str, list[float]], rows: int, batches: int) -> None:
    print(f"{batches} batches of {rows:,} rows, {len(took[WAYS[0]])} turns")
    for way, seconds in took.items():
        ratio = statistics.median(mine / other for mine, other in zip(seconds, took[WAYS[0]], strict=True))
        batch = 1000 * statistics.median(mine - other for mine, other in zip(seconds, took[WAYS[0]], strict=True)) / batches
        print(f"{way:<20} {statistics.median(seconds) / batches:7.3f} s a batch   ratio {ratio:6.3f}   {batch:+7.1f} ms a batch")


def _seconds(spark: SparkSession, folder: Path, way: str, turn: int) -> float:
    """Seconds of all batches of one run, as the job measures them."""
    name = f"{way.replace(' ', '-').replace('@', '')}-{turn}"
    sql = SQL.format(folder=folder, out=folder / "out" / name, notes=NOTES if way == WAYS[-1] else "")
    is_watched = way != WAYS[0]
    undo = set_up(as_json=True, file=folder / "logs" / f"{name}.log") if is_watched else lambda: None
    listen = "127.0.0.1:0" if is_watched else None
    with _collecting() as collector:
        settings = {"traces.endpoint": collector, "traces.protocol": "http"} if way in WAYS[2:] else {}
        jobs = windrow.run(sql, spark=spark, mode="until_end", state=folder / "state" / name, settings=settings, listen=listen)
        try:
            with _scraped(jobs):
                jobs.await_end()
        finally:
            undo()
    return sum(jobs.status()[0].total_phases.values())


@contextmanager
def _collecting() -> Iterator[str]:
    """A collector that takes spans and forgets them."""

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _scraped(jobs: Jobs) -> Iterator[None]:
    """Every second, as often as anybody does."""
    is_over = threading.Event()

    def scrape() -> None:
        while jobs.address is not None and not is_over.wait(1.0):
            try:
                urllib.request.urlopen(f"{jobs.address}/metrics", timeout=10).read()
            except OSError:
                return

    thread = threading.Thread(target=scrape, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(10)


def _write(folder: Path, rows: int, batches: int) -> None:
    folder.mkdir()
    for batch in range(batches):
        path = folder / f"{batch:03}.json"
        with path.open("w") as file:
            for row in range(rows):
                at = (batch * rows + row) // 10
                file.write(f'{{"symbol":"S{row % 500}","price":{row % 997}.5,"ts":{at}}}\n')
        stamp = time.time() - 1000 + batch
        os.utime(path, (stamp, stamp))


if __name__ == "__main__":
    main()
