"""Kafka to Kafka, JSON rows of a kilobyte: exactly once by Windrow against at least once by hand, on one broker in one run.

``python -m benchmarks.kafka --rows 500000`` prints rows a second and their ratio, and where Windrow's time goes.
Nothing here is asserted: machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from windrow.compiling import compile_sql
from windrow.jars import KAFKA_CONNECTOR, jar_files
from windrow.jobs import RunOptions, start
from windrow.local.kafka import LocalBroker
from windrow.spark.session import SPEED, make_session

COLUMNS = "symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT, note STRING"
STATELESS, WINDOW = "filter and projection", "tumbling 10 s"
QUERIES = {
    STATELESS: "SELECT symbol, price * volume AS worth, ts, note FROM trades WHERE volume > 100",
    WINDOW: "SELECT symbol, _window_start AS s, COUNT(*) AS n, SUM(volume) AS volume FROM trades GROUP BY symbol WINDOW TUMBLING(10s)",
}


@dataclass
class Bench:
    spark: SparkSession
    address: str
    source: str
    work: Path
    per_batch: int

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

    def by_hand(self, query: str) -> float:
        rows = self._records().select(F.from_json(F.col("value").cast("string"), COLUMNS).alias("r")).select("r.*")
        return self._run(_filtered(rows) if query == STATELESS else _windowed(rows), "kafka")

    def read_and_write(self, query: str) -> float:
        """What Spark takes to read the records and to write about as many as the query does, with nothing in between."""
        records = self._records().select("key", "value")
        return self._run(records, "kafka" if query == STATELESS else "noop")

    def _records(self) -> DataFrame:
        session = self.spark.newSession()
        for key, value in {**SPEED, "spark.sql.shuffle.partitions": str(os.cpu_count() or 2)}.items():
            session.conf.set(key, value)
        reader = session.readStream.format("kafka").option("kafka.bootstrap.servers", self.address).option("subscribe", self.source)
        return reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", self.per_batch).load()

    def _run(self, rows: DataFrame, sink: str) -> float:
        shutil.rmtree(self.work, ignore_errors=True)
        writer = rows.writeStream.outputMode("append").format(sink).option("kafka.bootstrap.servers", self.address)
        writer = writer.option("topic", self.topic()).option("checkpointLocation", str(self.work / "hand")).trigger(availableNow=True)
        started = time.monotonic()
        writer.start().awaitTermination()
        return time.monotonic() - started

    def windrow(self, query: str, delivery: str) -> float:
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
        started = time.monotonic()
        jobs = start(compiled, RunOptions(mode="once", state=self.work / "state"), self.spark)
        jobs.await_end()
        taken = time.monotonic() - started
        assert jobs.status()[0].ledger.is_balanced
        return taken


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
            bench = Bench(spark, broker.address, "", Path(folder) / "work", options.per_batch)
            bench.source = bench.topic()
            bench.fill(options.rows)
            for query in QUERIES:
                _compare(bench, query, options.rows, options.repeat)
        finally:
            broker.kill()
    spark.stop()


def _compare(bench: Bench, query: str, rows: int, repeat: int) -> None:
    sides = {
        "read and write alone": lambda: bench.read_and_write(query),
        "by hand": lambda: bench.by_hand(query),
        "at least once": lambda: bench.windrow(query, "at_least_once"),
        "exactly once": lambda: bench.windrow(query, "exactly_once"),
    }
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(repeat):
        for side, run in sides.items():
            best[side] = min(best[side], run())
    alone, hand = best["read and write alone"], best["by hand"]
    print(f"{query}:")
    for side, taken in best.items():
        outside = f"{max(0.0, 1 - alone / taken):.0%} outside reading and writing"
        print(f"  {side:<20} {rows / taken:>9,.0f} rows a second, {hand / taken:.2f} x by hand, {outside}", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--per-batch", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
