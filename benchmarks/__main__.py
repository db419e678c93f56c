"""Run the comparisons and print ratios."""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from pathlib import Path

from benchmarks.data import ROWS_A_FILE, write_trades
from benchmarks.others import Bench, accounting, changes, five, large_state, small
from benchmarks.results import save
from benchmarks.sides import DEFAULTS, QUERIES, run_by_hand, run_windrow
from windrow.spark.session import SPEED, make_session

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
OTHERS = {"accounting": accounting, "changes": changes, "five": five, "small": small}
STORES = {"HDFS-backed": {}, "RocksDB": ROCKSDB}


def main() -> None:
    options = _options()
    cores = os.cpu_count() or 2
    spark = make_session(f"local[{cores}]", {"spark.driver.memory": options.memory})
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    measured: list[tuple[str, ...]] = []
    print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, Spark {spark.version}")
    print(f"{options.rows:,} rows, {options.keys:,} keys; million rows a second, best of {options.repeat}")
    print(f"{'query':<10} {'format':<8} {'rows a batch':>12} {'defaults':>9} {'our settings':>13} {'Windrow':>8}  ratio  ratio to defaults")
    for format_ in options.formats.split(","):
        source = write_trades(spark, folder, options.rows, options.keys, format_)
        for files in map(int, options.files.split(",")):
            names = filter(None, options.queries.split(","))
            measured.extend(_compare(spark, name, source, format_, files, folder / "work", options, cores) for name in names)
            bench = Bench(spark, source, format_, files, folder / "work", options.repeat, cores)
            for name in filter(None, options.others.split(",")):
                OTHERS[name](bench)
    if options.save:
        title = "Windows against the same query by hand: million rows a second, best run of each side"
        columns = ("query", "input", "rows a batch", "by hand", "Windrow", "ratio")
        print(save("windows", title, columns, measured, f"{options.rows:,} rows, {options.keys:,} keys, best of {options.repeat}"))
    if options.pairs:
        large_state(bench, options.pairs)
    spark.stop()


def _compare(spark, name, source, format_, files, work, options, cores) -> tuple[str, ...]:  # type: ignore[no-untyped-def]  # a script's inner part
    query = QUERIES[name]
    tuned = {**SPEED, "spark.sql.shuffle.partitions": str(cores)}
    best: dict[str, float] = {}
    for _ in range(options.repeat):
        for store, extra in STORES.items():
            if options.with_defaults:
                _keep(best, "defaults", run_by_hand(spark, query, source, format_, files, work / "hand", {**DEFAULTS, **extra})[0])
            _keep(best, "tuned", run_by_hand(spark, query, source, format_, files, work / "hand", {**tuned, **extra})[0])
            del store
        _keep(best, "ours", run_windrow(spark, query, source, format_, files, work / "ours"))
    rate = {key: options.rows / seconds / 1e6 for key, seconds in best.items()}
    defaults = rate.get("defaults", float("nan"))
    ours, hand = rate["ours"], rate["tuned"]
    line = f"{name:<10} {format_:<8} {files * ROWS_A_FILE:>12,} {defaults:>9.2f} {hand:>13.2f} {ours:>8.2f}"
    print(f"{line}  {ours / hand:>5.2f}  {ours / defaults:>5.2f}", flush=True)
    return name, format_, f"{files * ROWS_A_FILE:,}", f"{hand:.2f}", f"{ours:.2f}", f"{ours / hand:.2f}"


def _keep(best: dict[str, float], key: str, seconds: float) -> None:
    best[key] = min(seconds, best.get(key, seconds))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--queries", default="tumbling,sliding,session")
    parser.add_argument("--others", default="", help=f"of {', '.join(OTHERS)}")
    parser.add_argument("--pairs", type=int, default=0, help="open groups to hold on the executors, and what a batch then costs")
    parser.add_argument("--formats", default="parquet")
    parser.add_argument("--files", default="1,5", help="files a batch, half a million rows each")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--save", action="store_true", help="write the results down, for docs/performance.md")
    parser.add_argument("--with-defaults", action="store_true", help="also with Spark's default settings")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "windrow-bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
