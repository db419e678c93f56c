"""A long run at a steady rate: is memory flat, and does a batch take as long at the end as at the beginning?

``python -m benchmarks.soak --minutes 30 --picture docs/pictures/soak.png`` prints a line a sample and draws what it saw.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from windrow.compiler import compile_sql
from windrow.jobs import RunOptions, start
from windrow.spark.session import make_session

SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT) WITH (
  'connector' = 'generator', 'rows.per.second' = '{rate}', 'partitions' = '2', 'seed' = '5',
  'disorder' = '2s', 'late.share' = '0.002', 'late.by' = '90s', 'bad.share' = '0.0005',
  'fields.symbol' = 'pattern(''S###'')', 'fields.price' = 'uniform(1, 100)', 'fields.volume' = 'uniform(1, 500)',
  'fields.ts' = 'event_time(millis)', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS minute, COUNT(*) AS n, FIRST(price) AS open, MAX(price) AS high, SUM(volume) AS volume
  FROM trades GROUP BY symbol WINDOW SLIDING(1m, 10s) ALLOWED_LATENESS 30s
  WITH ('connector' = 'files', 'path' = '{work}/out', 'format' = 'parquet');
"""


@dataclass(frozen=True)
class Sample:
    """One look at the running job. ``spark_mb`` and ``driver_mb`` are the memory that the two processes hold."""

    minute: float
    batches: int
    rows: int
    batch_ms: int
    spark_mb: int
    driver_mb: int
    state_kb: int
    open_windows: int


def main() -> None:
    options = _options()
    work = Path(options.folder)
    shutil.rmtree(work, ignore_errors=True)
    spark = make_session("local[2]", {"spark.driver.memory": "1g"})
    gateway = spark.sparkContext._jvm
    assert gateway is not None
    jvm = int(gateway.java.lang.ProcessHandle.current().pid())
    compiled = compile_sql(SQL.format(rate=options.rate, work=work), env={})
    jobs = start(compiled, RunOptions(state=work / "state", trigger_interval_ms=1000), spark)
    samples: list[Sample] = []
    began = time.monotonic()
    print(",".join(Sample.__dataclass_fields__))
    while time.monotonic() - began < options.minutes * 60:
        time.sleep(options.every)
        status = jobs.status()[0]
        assert status.error is None, status.error
        sample = Sample(
            round((time.monotonic() - began) / 60, 2),
            status.batch_id + 1,
            status.rows_in,
            round(status.batch_seconds * 1000),
            _resident_mb(jvm),
            _resident_mb(os.getpid()),
            status.state_bytes // 1024,
            status.open_windows,
        )
        samples.append(sample)
        print(",".join(map(str, asdict(sample).values())), flush=True)
    jobs.stop()
    assert jobs.status()[0].ledger.is_balanced
    with (work / "samples.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(Sample.__dataclass_fields__))
        writer.writeheader()
        writer.writerows(asdict(sample) for sample in samples)
    if options.picture:
        draw(samples, Path(options.picture), options.rate)
    spark.stop()


def _resident_mb(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // (1 << 20)


def draw(samples: list[Sample], target: Path, rate: int) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    figure, (memory, times, state) = pyplot.subplots(3, 1, figsize=(9, 8), sharex=True, layout="constrained")
    minutes = [sample.minute for sample in samples]
    memory.plot(minutes, [sample.spark_mb for sample in samples], label="Spark (JVM)")
    memory.plot(minutes, [sample.driver_mb for sample in samples], label="driver (Python)")
    memory.set_ylabel("resident memory, MB")
    memory.set_ylim(bottom=0)
    memory.legend()
    times.plot(minutes, [sample.batch_ms for sample in samples], ".", markersize=4)
    times.set_ylabel("time of a batch, ms")
    times.set_ylim(bottom=0)
    state.plot(minutes, [sample.open_windows for sample in samples])
    state.set_ylabel("open groups and slices")
    state.set_ylim(bottom=0)
    state.set_xlabel("minutes")
    figure.suptitle(f"Sliding windows over {rate:,} rows a second, a batch a second")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, dpi=110)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--every", type=float, default=5, help="seconds between two samples")
    parser.add_argument("--rate", type=int, default=2000, help="rows a second")
    parser.add_argument("--picture", help="where to draw the result")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "windrow-soak"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
