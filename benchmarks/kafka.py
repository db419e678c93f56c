"""Kafka to Kafka, JSON rows of a kilobyte: exactly once by Windrow against at least once by hand, on one broker in one run.

``python -m benchmarks.kafka`` prints for each side the rate over the whole run, what of the run is no batch (the start), and the steady
rate: rows over the time of their batches by Spark's own progress, without the first batches, in which the JVM still compiles.
Processor time is that of the driver, the JVM and the broker together: on a busy machine it says more than the clock does.
Nothing here is asserted: machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.results import save
from windrow.compiler import compile_sql
from windrow.jars import KAFKA_CONNECTOR, jar_files
from windrow.jobs import Jobs, RunOptions, start
from windrow.local.kafka import LocalBroker
from windrow.spark.session import SPEED, make_session

T = TypeVar("T")
COLUMNS = "symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT, note STRING"
STATELESS, WINDOW = "filter and projection", "tumbling 10 s"
QUERIES = {
    STATELESS: "SELECT symbol, price * volume AS worth, ts, note FROM trades WHERE volume > 100",
    WINDOW: "SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(volume) AS volume FROM trades GROUP BY symbol WINDOW TUMBLING(10s)",
}


# Batches of which the JVM's compiler has its share.
WARMING = 3


@dataclass(frozen=True)
class Taken:
    """Seconds, and steady rows a second (0 where there were too few batches)."""

    whole: float
    starting: float
    steady: float
    processor: float


@dataclass
class Bench:
    spark: SparkSession
    broker: LocalBroker
    source: str
    work: Path
    per_batch: int

    @property
    def address(self) -> str:
        return self.broker.address

    def topic(self, partitions: int = 2) -> str:
        name = f"bench-{uuid.uuid4().hex[:8]}"
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)
        return name

    def fill(self, rows: int) -> None:
        """A millisecond of event time every ten rows, shuffled by up to two seconds; 1 KB each."""
        frame = self.spark.range(0, rows, 1, 1).selectExpr(
            "concat('S', pmod(xxhash64(id), 1000)) AS symbol",
            "100 + pmod(xxhash64(id, 1), 10000) / 100.0D AS price",
            "1 + pmod(xxhash64(id, 2), 1000) AS volume",
            "1700000000000L + id DIV 10 - pmod(xxhash64(id, 3), 2000) AS ts",
            "left(repeat(hex(xxhash64(id, 5)), 64), 920) AS note",
            "CAST(id % 2 AS INT) AS partition",
        )
        values = frame.selectExpr("to_json(struct(symbol, price, volume, ts, note)) AS value", "partition")
        values.write.format("kafka").option("kafka.bootstrap.servers", self.address).option("topic", self.source).save()

    def by_hand(self, query: str) -> Taken:
        rows = self._records().select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("r")).select("r.*")
        return self._run(_filtered(rows) if query == STATELESS else _windowed(rows), "kafka")

    def read_and_write(self, query: str) -> Taken:
        """What Spark takes to read the records and to write about as many as the query does, with nothing in between."""
        records = self._records().select("key", "value")
        return self._run(records, "kafka" if query == STATELESS else "noop")

    def _records(self) -> DataFrame:
        session = self.spark.newSession()
        for key, value in {**SPEED, "spark.sql.shuffle.partitions": str(os.cpu_count() or 2)}.items():
            session.conf.set(key, value)
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", self.address).option("subscribe", self.source)
        return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", self.per_batch).load()

    def _run(self, rows: DataFrame, sink: str) -> Taken:
        shutil.rmtree(self.work, ignore_errors=True)
        writer = rows.writeStream.outputMode("append").format(sink).option("kafka.bootstrap.servers", self.address)
        writer = writer.option("topic", self.topic()).option("checkpointLocation", str(self.work / "hand")).trigger(availableNow=True)
        return self._timed(writer.start, lambda query: query.awaitTermination(), lambda query: query)

    def windrow(self, query: str, delivery: str) -> Taken:
        shutil.rmtree(self.work, ignore_errors=True)
        servers = f"'bootstrap.servers' = '{self.address}'"
        sql = f"""
        CREATE STREAM trades ({COLUMNS}) WITH ('connector' = 'kafka', 'topic' = '{self.source}', {servers},
          'max.offsets.per.trigger' = '{self.per_batch}', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis',
          'watermark.delay' = '5s');
        CREATE STREAM out AS {QUERIES[query]}
          WITH ('connector' = 'kafka', 'topic' = '{self.topic()}', {servers}, 'delivery' = '{delivery}');
        """
        compiled = compile_sql(sql, env={})
        name = compiled.plan.jobs[0].name

        def ended(jobs: Jobs) -> None:
            jobs.await_end()
            assert jobs.status()[0].ledger.is_balanced

        options = RunOptions(mode="once", state=self.work / "state")
        return self._timed(lambda: start(compiled, options, self.spark), ended, lambda jobs: jobs.query(name))

    def _timed(self, begin: Callable[[], T], wait: Callable[[T], object], query_of: Callable[[T], StreamingQuery]) -> Taken:
        started, used = time.monotonic(), self._processor()
        running = begin()
        wait(running)
        whole, used = time.monotonic() - started, self._processor() - used
        batches = [(_rows_of(one), one["durationMs"]["triggerExecution"] / 1000) for one in query_of(running).recentProgress]
        batches = [(rows, seconds) for rows, seconds in batches if rows]
        steady = batches[WARMING:]
        rate = sum(rows for rows, _ in steady) / sum(seconds for _, seconds in steady) if steady else 0.0
        return Taken(whole, whole - sum(seconds for _, seconds in batches), rate, used)

    def _processor(self) -> float:
        """Seconds of processor time so far: this process, its JVM and the broker."""
        jvm: Any = self.spark.sparkContext._jvm
        return sum(map(_processor_of, (os.getpid(), int(jvm.java.lang.ProcessHandle.current().pid()), self.broker.status().pid or 0)))


def _rows_of(progress: Any) -> int:
    """By the offsets: where a batch is read twice, Spark counts its rows twice."""
    source = progress["sources"][0]
    before, after = (json.loads(source[key] or "{}") or {} for key in ("startOffset", "endOffset"))
    return sum(end - before.get(topic, {}).get(number, 0) for topic, each in after.items() for number, end in each.items())


def _processor_of(pid: int) -> float:
    """0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _filtered(rows: DataFrame) -> DataFrame:
    kept = rows.where("volume > 100").selectExpr("symbol", "price * volume AS worth", "ts", "note")
    return kept.selectExpr("symbol AS key", "to_json(struct(*)) AS value")


def _windowed(rows: DataFrame) -> DataFrame:
    timed = rows.withColumn("at", F.timestamp_millis("ts")).withWatermark("at", "5 seconds")
    grouped = timed.groupBy(F.window("at", "10 seconds"), "symbol").agg(F.count("*").alias("n"), F.sum("volume").alias("volume"))
    return grouped.selectExpr("symbol AS key", "to_json(struct(symbol, window.start AS s, n, volume)) AS value")


def main() -> None:
    options = _options()
    cores = os.cpu_count() or 2
    jars = ",".join(map(str, jar_files(KAFKA_CONNECTOR)))
    spark = make_session(f"local[{cores}]", {"spark.driver.memory": "4g", "spark.jars": jars})
    print(
        f"{platform.machine()}, {cores} cores, Spark {spark.version}, {options.rows:,} rows of 1 KB, best of {options.repeat}", flush=True
    )
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        broker = LocalBroker(Path(folder) / "kafka", 0)
        broker.start()
        try:
            bench = Bench(spark, broker, "", Path(folder) / "work", options.per_batch)
            bench.source = bench.topic()
            bench.fill(options.rows)
            measured: list[tuple[str, ...]] = []
            for query in options.query or QUERIES:
                measured += _compare(bench, query, options.rows, options.repeat)
        finally:
            broker.kill()
    if options.save:
        columns = ("query", "side", "rows a second", "ratio", "steady", "ratio (steady)", "start", "processor time a row")
        told = f"{options.rows:,} rows, {options.per_batch:,} a batch, best of {options.repeat}"
        print(save("kafka", "Topic to topic, rows of 1 KB", columns, measured, told))
    spark.stop()


def _compare(bench: Bench, query: str, rows: int, repeat: int) -> list[tuple[str, ...]]:
    """The rows of the table of results, one a side."""
    sides = {
        "read and write alone": lambda: bench.read_and_write(query),
        "by hand": lambda: bench.by_hand(query),
        "at least once": lambda: bench.windrow(query, "at_least_once"),
        "exactly once": lambda: bench.windrow(query, "exactly_once"),
    }
    every: dict[str, list[Taken]] = {side: [] for side in sides}
    for _ in range(repeat):
        for side, run in sides.items():
            every[side].append(run())
    print(f"{query}:")
    hand = every["by hand"]
    table = []
    for side, taken in every.items():
        whole, steady = rows / min(one.whole for one in taken), max(one.steady for one in taken)
        used, start = min(one.processor for one in taken) / rows * 1e6, min(one.starting for one in taken)
        by_hand, steady_by_hand = rows / min(one.whole for one in hand), max(one.steady for one in hand) or 1
        ratios = f"{whole / by_hand:.2f}", f"{steady / steady_by_hand:.2f}"
        table.append((query, side, f"{whole:,.0f}", ratios[0], f"{steady:,.0f}", ratios[1], f"{start:.1f} s", f"{used:.0f} us"))
        print(
            f"  {side:<20} whole {whole:>7,.0f} rows a second ({ratios[0]} x by hand), steady {steady:>7,.0f} ({ratios[1]} x),"
            f" start {start:.1f} s, {used:.0f} us of processor time a row",
            flush=True,
        )
    return table


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--per-batch", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", action="store_true", help="write the figures down for docs/performance.md")
    parser.add_argument("--query", action="append", choices=list(QUERIES))
    return parser.parse_args()


if __name__ == "__main__":
    main()
