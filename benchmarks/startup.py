"""How long one waits before anything happens: help, a check, and the first row of a job, against a bare interpreter.

``python -m benchmarks.startup [ROUNDS]``. Sides take turns; the least of each counts, because everything else only adds to it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

STATEMENTS = """
CREATE STREAM trades (symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'ts');
CREATE STREAM a AS SELECT symbol, MAX(price) AS high FROM trades GROUP BY symbol WINDOW TUMBLING(1m) WITH ('connector' = 'console');
CREATE STREAM b AS SELECT symbol, AVG(price) AS mean FROM trades GROUP BY symbol WINDOW TUMBLING(2m) WITH ('connector' = 'console');
CREATE STREAM c AS SELECT symbol, MIN(price) AS low FROM trades GROUP BY symbol WINDOW SLIDING(2m, 1m) WITH ('connector' = 'console');
CREATE STREAM d AS SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW SESSION(2m) WITH ('connector' = 'console');
CREATE STREAM e AS SELECT symbol, price * 2 AS twice FROM trades WHERE price > 3 WITH ('connector' = 'console');
CREATE STREAM f AS SELECT symbol, COUNT(*) AS n FROM e GROUP BY symbol WITH ('connector' = 'console');
CREATE STREAM g AS SELECT symbol, STDDEV(price) AS spread FROM trades GROUP BY symbol WINDOW TUMBLING(2m) ALLOWED_LATENESS 1m
  WITH ('connector' = 'console');
CREATE STREAM h AS SELECT x.symbol, x.price FROM trades x JOIN trades y ON x.symbol = y.symbol
  AND y.ts BETWEEN x.ts - INTERVAL 1 MINUTE AND x.ts WITH ('connector' = 'console');
SELECT symbol, high FROM a WHERE high > 4;
"""
THREE_ROWS = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'ts');
SELECT symbol, price FROM trades;
"""


@dataclass
class Side:
    """A program and what it took: seconds by the clock (to its first line, where that is asked), and of the processor."""

    name: str
    command: Callable[[int], list[str]]
    to_first_line: bool = False
    wall: float = float("inf")
    processor: float = float("inf")

    def run(self, number: int) -> None:
        before, started = os.times(), time.monotonic()
        process = subprocess.Popen(self.command(number), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        if self.to_first_line:
            process.stdout.readline()
            wall = time.monotonic() - started
        process.stdout.read()
        if process.wait() != 0:
            raise SystemExit(f"{self.name} failed")
        after = os.times()
        self.wall = min(self.wall, wall if self.to_first_line else time.monotonic() - started)
        used = after.children_user + after.children_system - before.children_user - before.children_system
        self.processor = min(self.processor, used)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    windrow = [sys.executable, "-m", "windrow"]
    with tempfile.TemporaryDirectory(prefix="windrow-startup-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        rows = [{"symbol": "ACME", "price": 100.0 + n, "ts": f"2026-01-05T09:30:0{n}Z"} for n in range(3)]
        (folder / "in" / "1.json").write_text("\n".join(map(json.dumps, rows)))
        (folder / "ten.sql").write_text(STATEMENTS.format(folder=folder))
        (folder / "three.sql").write_text(THREE_ROWS.format(folder=folder))

        def run_three(number: int) -> list[str]:
            return [*windrow, "run", str(folder / "three.sql"), "--until-end", "--quiet", "--state", str(folder / f"state-{number}")]

        sides = [
            Side("python -c pass", lambda _: [sys.executable, "-c", "pass"]),
            Side("windrow --help", lambda _: [*windrow, "--help"]),
            Side("windrow check, ten statements", lambda _: [*windrow, "check", str(folder / "ten.sql")]),
            Side("windrow run, three rows, to the first line", run_three, to_first_line=True),
        ]
        for number in range(rounds):
            for side in sides:
                side.run(number)
    bare = sides[0]
    print(f"{'least of ' + str(rounds):45} {'clock':>9} {'times':>7} {'processor':>10} {'times':>7}")
    for side in sides:
        ratios = side.wall / bare.wall, side.processor / bare.processor
        print(f"{side.name:45} {side.wall * 1000:6,.0f} ms {ratios[0]:7.1f} {side.processor * 1000:7,.0f} ms {ratios[1]:7.1f}")


if __name__ == "__main__":
    main()
