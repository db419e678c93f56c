"""Candles over Kafka, changed as a user does it: a column, a filter, another window, and back. What is printed says what happens."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Broker
from tests.integration.topics import Record, send
from tests.integration.written import read_topic

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TEXT = """
CREATE STREAM trades (symbol STRING, price DOUBLE, volume INT, ts BIGINT) WITH (
  'connector' = 'kafka', 'topic' = '{trades}', 'bootstrap.servers' = '{at}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '5s');
CREATE STREAM candles AS SELECT {columns} FROM trades{where} GROUP BY symbol WINDOW TUMBLING({size})
  WITH ('connector' = 'kafka', 'topic' = '{candles}', 'bootstrap.servers' = '{at}', 'format' = 'json');
"""
COLUMNS = "symbol PRIMARY KEY, _window_start AS minute, _window_end AS until, MAX(price) AS high, COUNT(*) AS trades"
MINUTE, START = 60_000, 1_700_000_100_000 // 300_000 * 300_000


class Desk:
    """A file, the commands over it, and all that they print."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder, self.broker, self.now, self.told = folder, broker, 0, ""
        self.trades, self.candles = broker.topic(partitions=1), broker.topic(partitions=1)

    def write(self, columns: str = COLUMNS, where: str = "", size: str = "1m") -> None:
        given = {"trades": self.trades, "candles": self.candles, "at": self.broker.address}
        (self.folder / "candles.sql").write_text(TEXT.format(columns=columns, where=where, size=size, **given))

    def trade(self, minutes: int) -> None:
        """A trade every ten seconds, of volume 1 and 2 in turn."""
        send(self.broker, self.trades, self._records(minutes))

    def _records(self, minutes: int) -> Iterator[Record]:
        for _ in range(minutes * 6):
            yield Record({"symbol": "AAA", "price": 100.0 + self.now, "volume": 1 + self.now % 2, "ts": START + self.now * 10_000})
            self.now += 1

    def __call__(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "windrow", words[0], "candles.sql", *words[1:]],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=240,
            check=False,
        )
        self.told += f"$ windrow {words[0]} candles.sql {' '.join(words[1:])}\n{done.stdout}"
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self) -> None:
        self("run", "--once", "--quiet")

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = [one.value for one in read_topic(self.broker.address, self.candles)]
        return found


def test_a_column_a_filter_another_window_and_back(broker: Broker, tmp_path: Path) -> None:
    desk = Desk(tmp_path, broker)
    desk.write()
    desk.trade(10)
    desk.run()
    more = f"{COLUMNS}, SUM(volume) AS volume"
    desk.write(more)
    told = desk("plan")
    assert "D  SUM(volume) is new" in told
    assert "it is NULL for windows that are open now, and whole from the next window on" in told
    desk("apply", "--yes", "--no-watch", "-m", "volume")
    desk.write(more, " WHERE volume > 1")
    told = desk("plan")
    assert "E  where is volume > 1, and was not there" in told
    assert "windows of candles that start before stay with version 2" in told
    desk("apply", "--yes", "--no-watch", "-m", "only large ones")
    desk.trade(3)
    desk.run()
    desk.write(more, " WHERE volume > 1", "5m")
    told = desk("plan")
    assert "F  window size is 5m, and was 1m" in told
    assert "           but records of topic" in told, "records of a topic cannot be taken back"
    desk("apply", "--yes", "--no-watch", "-m", "five minutes")
    desk.trade(12)
    desk.run()
    sizes = [row["trades"] for row in desk.rows()]
    assert sizes[:10] == [6] * 10
    assert 15 in sizes, "a whole window of five minutes, of every other trade"
    told = desk("rollback", "--yes", "-m", "one minute after all")
    assert "back to version 3" in told
    assert "stays" in told
    text = desk("history", "--text", "3")
    assert "TUMBLING(1m)" in text
    (tmp_path / "candles.sql").write_text(text)
    desk.run()
    desk("history")
    messages = [one["message"] for one in json.loads(desk("history", "--format", "json"))]
    for word in ("volume", "only large ones", "five minutes", "one minute after all"):
        assert word in messages
    print(desk.told)
