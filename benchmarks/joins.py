"""Two streams joined within a bound of time, against Structured Streaming's own stream-stream join.

    python -m benchmarks.joins [--rows 1000000] [--keys 10000] [--within 10] [--repeat 3]

Both sides read the same Parquet files in the same batches and write Parquet. By hand means two watermarks and the bound in the
condition, with the settings that Windrow uses itself, once with each of Spark's state stores; the better of the two counts.
Processor time (of the driver and the JVM) is printed beside the time on the clock: on a machine that others use, only it repeats.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.__main__ import STORES
from benchmarks.results import save
from windrow.compiler import compile_sql
from windrow.jobs import RunOptions, start
from windrow.spark.session import SPEED, make_session

ORDERS = "id BIGINT, customer STRING, amount DOUBLE, ts BIGINT"
PAYMENTS = "payment BIGINT, customer STRING, paid DOUBLE, ts BIGINT"
SPARK_KIND = {"INNER": "inner", "LEFT": "leftOuter"}


@dataclass(frozen=True)
class Taken:
    """Seconds of one run."""

    wall: float
    processor: float


class Watch:
    """Processor time is that of the driver and of the JVM, as Linux counts it."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/stat")  # type: ignore[union-attr]
        self._start = self._now

    @property
    def _now(self) -> Taken:
        user, system = self._jvm.read_text().rpartition(") ")[2].split()[11:13]
        return Taken(time.monotonic(), time.process_time() + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK"))

    @property
    def taken(self) -> Taken:
        now = self._now
        return Taken(now.wall - self._start.wall, now.processor - self._start.processor)


@dataclass(frozen=True)
class Comparison:
    """One join of two streams, and where it runs."""

    spark: SparkSession
    folder: Path
    kind: str
    within: int  # seconds after an order in which its payment may come

    @property
    def work(self) -> Path:
        return self.folder / "work"

    def by_hand(self, settings: dict[str, str]) -> Taken:
        session = self.spark.newSession()
        for key, value in settings.items():
            session.conf.set(key, value)
        orders, payments = (self._stream(session, name, columns) for name, columns in (("orders", ORDERS), ("payments", PAYMENTS)))
        bound = F.expr(
            f"o.customer = p.customer AND p.p_at >= o.o_at AND p.p_at <= o.o_at + INTERVAL {self.within} SECONDS",
        )
        joined = orders.alias("o").join(payments.alias("p"), bound, SPARK_KIND[self.kind])
        rows = joined.select("o.id", "o.customer", "o.amount", "p.payment", "p.paid")
        shutil.rmtree(self.work, ignore_errors=True)
        watch = Watch(self.spark)
        writer = rows.writeStream.outputMode("append").format("parquet").option("path", str(self.work / "out"))
        writer.option("checkpointLocation", str(self.work / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
        return watch.taken

    def _stream(self, session: SparkSession, name: str, columns: str) -> DataFrame:
        rows = session.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(self.folder / name))
        at = f"{name[0]}_at"
        return rows.withColumn(at, F.timestamp_millis("ts")).withWatermark(at, "5 seconds")

    def windrow(self) -> Taken:
        shutil.rmtree(self.work, ignore_errors=True)
        streams = "".join(
            f"""CREATE STREAM {name} ({columns}) WITH ('connector' = 'files', 'path' = '{self.folder / name}', 'format' = 'parquet',
              'files.per_batch' = '1', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');
            """
            for name, columns in (("orders", ORDERS), ("payments", PAYMENTS))
        )
        compiled = compile_sql(
            f"""{streams} CREATE STREAM paid AS SELECT o.id, o.customer, o.amount, p.payment, p.paid
            FROM orders o {self.kind} JOIN payments p WITHIN (0s, {self.within}s) ON o.customer = p.customer
            WITH ('connector' = 'files', 'path' = '{self.work}/out', 'format' = 'parquet');""",
            env={},
        )
        watch = Watch(self.spark)
        jobs = start(compiled, RunOptions(mode="once", state=self.work / "state"), self.spark)
        jobs.await_end()
        taken = watch.taken
        status = jobs.status()[0]
        assert status.ledger.is_balanced, status.ledger.to_json()
        return taken

    def rows_out(self) -> int:
        return self.spark.read.parquet(str(self.work / "out")).count()


def write_streams(spark: SparkSession, folder: Path, rows: int, keys: int, files: int) -> Path:
    """Orders and payments in the order of time, up to two seconds: a row of each every millisecond."""
    target = folder / f"orders-{rows}-{keys}-{files}"
    for number, (name, columns) in enumerate({"orders": ("id", "amount"), "payments": ("payment", "paid")}.items()):
        if (target / name / "_SUCCESS").exists():
            continue
        frame = spark.range(0, rows, 1, files).selectExpr(
            f"id AS {columns[0]}",
            f"concat('C', pmod(xxhash64(id, {number}), {keys})) AS customer",
            f"pmod(xxhash64(id, 1), 10000) / 100.0D AS {columns[1]}",
            f"1700000000000L + id - pmod(xxhash64(id, 3, {number}), 2000) AS ts",
        )
        frame.write.mode("overwrite").parquet(str(target / name))
        # Files are taken in the order of their times, and Spark's tasks finish in any order.
        for place, path in enumerate(sorted((target / name).glob("part-*"))):
            os.utime(path, (1_700_000_000 + place, 1_700_000_000 + place))
    return target


def main() -> None:
    options = _options()
    cores = os.cpu_count() or 2
    spark = make_session(f"local[{cores}]", {"spark.driver.memory": options.memory})
    print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, Spark {spark.version}")
    print(
        f"{options.rows:,} rows a side, {options.keys:,} keys, "
        f"{options.rows // options.files:,} rows a batch and side, within {options.within} s"
    )
    source = write_streams(spark, Path(options.folder), options.rows, options.keys, options.files)
    measured: list[tuple[str, ...]] = []
    for kind in options.kinds.split(","):
        measured += _compare(Comparison(spark, source, kind, options.within), options.rows, options.repeat, cores)
    if options.save:
        title = f"Two streams joined within {options.within} seconds, against Spark's own stream-stream join"
        columns = ("join", "seconds of", "Windrow", *(f"by hand, {store}" for store in STORES), "ratio")
        told = f"{options.rows:,} rows a side in {options.files} batches, {options.keys:,} keys, best of {options.repeat}"
        print(save("joins", title, columns, measured, told))
    spark.stop()


def _compare(compared: Comparison, rows: int, repeat: int, cores: int) -> list[tuple[str, ...]]:
    """The rows of the table of results: what each side took at best, by the clock and on the processor."""
    tuned = {**SPEED, "spark.sql.shuffle.partitions": str(cores)}
    sides: dict[str, Callable[[], Taken]] = {"Windrow": compared.windrow}
    for store, extra in STORES.items():
        sides[store] = lambda extra=extra: compared.by_hand({**tuned, **extra})  # type: ignore[misc]
    runs: dict[str, list[Taken]] = {name: [] for name in sides}
    for _ in range(repeat):
        for name, run in sides.items():
            runs[name].append(taken := run())
            print(
                f"  {compared.kind:<5} {name:<12} {taken.wall:6.2f} s, {taken.processor:6.2f} s of processor,",
                f"{compared.rows_out():,} rows out",
                flush=True,
            )
    ours = runs.pop("Windrow")
    table = []
    for what, of in (("the clock", lambda t: t.wall), ("the processor", lambda t: t.processor)):
        by_store = [min(map(of, listed)) for listed in runs.values()]
        best, theirs = min(map(of, ours)), min(by_store)
        table.append((compared.kind, what, f"{best:.1f}", *(f"{one:.1f}" for one in by_store), f"{theirs / best:.1f}"))
        rates = f"{2 * rows / theirs / 1e6:.2f} by hand, {2 * rows / best / 1e6:.2f} Windrow"
        print(f"{compared.kind} JOIN, million rows a second by {what}: {rates}, ratio {theirs / best:.2f}", flush=True)
    return table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each side")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--within", type=int, default=10, help="seconds")
    parser.add_argument("--files", type=int, default=10, help="of each side, one a batch")
    parser.add_argument("--kinds", default="INNER,LEFT")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="write the figures down for docs/performance.md")
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "windrow-bench"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
