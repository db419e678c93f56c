"""Out-of-order trades with some late and some broken ones, a file a batch, and a job over them that chaos tests disturb."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable
from pathlib import Path

STREAMS = ("candles", "running", "dear")
SQL = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{rows}', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '2s');
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close,
         COUNT(*) AS n, _emission AS kind, _revision AS rev
  FROM trades WHERE price > 2 GROUP BY symbol WINDOW TUMBLING(10s) ALLOWED_LATENESS 20s
  WITH ('connector' = 'files', 'path' = '{out}/candles', 'format' = 'json');
CREATE STREAM running AS
  SELECT symbol, COUNT(*) AS n, SUM(price) AS total, _revision AS rev FROM trades GROUP BY symbol EMIT CHANGES PER BATCH
  WITH ('connector' = 'files', 'path' = '{out}/running', 'format' = 'json');
CREATE STREAM dear AS SELECT symbol, price FROM trades WHERE price > 95
  WITH ('connector' = 'files', 'path' = '{out}/dear', 'format' = 'json');
"""


def chance() -> random.Random:
    """What a test leaves to chance; its seed is printed, and ``WINDROW_CHAOS_SEED`` repeats it."""
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", random.SystemRandom().randrange(1_000_000)))
    print(f"seed {seed}", flush=True)
    return random.Random(seed)


def last_commit(entries: Callable[[str], list[str]]) -> int:
    """The last batch that the jobs below ``state`` have committed, -1 for none.

    Spark keeps only the newest commits, so their number says nothing: the greatest does.
    """
    found = [name for job in entries("state") for name in entries(f"state/{job}/checkpoint/commits")]
    return max((int(name) for name in found if name.isdigit()), default=-1)


def write_trades(folder: Path, files: int, rows: int, seed: int) -> None:
    rng = random.Random(seed)
    folder.mkdir()
    at = 1_700_000_000_000
    for number in range(files):
        lines = []
        for _ in range(rows):
            at += 100
            late = 45_000 if rng.random() < 0.02 else 12_000 if rng.random() < 0.05 else rng.randrange(3000)
            row = {"symbol": rng.choice("ABC"), "price": round(rng.uniform(1, 100), 2), "ts": at - late}
            lines.append("{broken" if rng.random() < 0.01 else json.dumps(row))
        path = folder / f"{number:04d}.json"
        path.write_text("\n".join(lines) + "\n")
        # Files are taken in the order of their times.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
