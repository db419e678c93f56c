"""Flink's side of the comparison, run by a Python that has apache-flink: ``python flink_side.py SOURCE OUT REPEAT``; prints seconds.

A script of its own: nothing of Windrow is in that environment.
"""

import shutil
import sys
import time

from pyflink.table import EnvironmentSettings, TableEnvironment


def run(source: str, out: str) -> float:
    shutil.rmtree(out, ignore_errors=True)
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "2")
    env.get_config().set("execution.checkpointing.interval", "1 s")
    env.execute_sql(f"""
        CREATE TABLE trades (symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT, `at` AS TO_TIMESTAMP_LTZ(ts, 3),
          WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND)
        WITH ('connector' = 'filesystem', 'path' = '{source}', 'format' = 'json')""")
    env.execute_sql(f"""
        CREATE TABLE candles (symbol STRING, s TIMESTAMP(3), n BIGINT, volume BIGINT, low DOUBLE, high DOUBLE)
        WITH ('connector' = 'filesystem', 'path' = '{out}', 'format' = 'json')""")
    started = time.monotonic()
    env.execute_sql("""
        INSERT INTO candles SELECT symbol, window_start, COUNT(*), SUM(volume), MIN(price), MAX(price)
        FROM TABLE(TUMBLE(TABLE trades, DESCRIPTOR(`at`), INTERVAL '1' MINUTE)) GROUP BY symbol, window_start, window_end""").wait()
    return time.monotonic() - started


def main() -> None:
    source, out, repeat = sys.argv[1:4]
    for _ in range(int(repeat)):
        print(f"{run(source, out):.3f}", flush=True)


if __name__ == "__main__":
    main()
