"""The demo's query between other systems: trades out of a topic, candles into a topic or a table, and a look at what arrived there."""

from __future__ import annotations

import json
import random
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from windrow.cli.kafka import local_broker
from windrow.cli.screen import say, table
from windrow.errors import UsageError
from windrow.local.kafka import LocalBroker
from windrow.local.postgres import read_rows, temporary_server

if TYPE_CHECKING:
    from rich.console import Console

TRADES = 20_000
_SHOWN = 12
# The options of the source, then those of the sink. A parenthesis in quotes is part of a value.
_CLAUSE = re.compile(r"WITH \((?:[^()']|'[^']*')*\)")
_CANDLE = ("symbol", "minute", "open", "high", "low", "close", "volume")
_TABLE = "windrow_demo_candles"
_URL = "DEMO_DATABASE"
Say = Callable[[str], None]


class Outside(Protocol):
    """One system beside Windrow. ``environment`` is for what the file must not say itself."""

    environment: dict[str, str]

    def rewrite(self, sql: str) -> str:
        """The demo's file with this system in it."""

    def show(self, out: Console) -> None:
        """What the system holds when the job is over."""


class Topics:
    def __init__(self, address: str) -> None:
        self.environment: dict[str, str] = {}
        suffix = uuid.uuid4().hex[:6]
        self._address = address
        self.trades, self.candles = f"demo-trades-{suffix}", f"demo-candles-{suffix}"

    def fill(self) -> None:
        from windrow.local.topics import Cluster, produce

        cluster = Cluster(self._address, {})
        cluster.create(self.trades, 2)
        produce(cluster, self.trades, made_up_trades())

    def rewrite(self, sql: str) -> str:
        servers = f"'bootstrap.servers' = '{self._address}'"
        source = f"""WITH ('connector' = 'kafka', 'topic' = '{self.trades}', {servers}, 'max.offsets.per.trigger' = '4000',
      'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s')"""
        sink = f"WITH ('connector' = 'kafka', 'topic' = '{self.candles}', {servers}, 'topic.create' = 'true')"
        return with_clauses(sql, source, sink)

    def show(self, out: Console) -> None:
        from windrow.local.topics import Cluster, consume

        records = list(consume(Cluster(self._address, {}), self.candles, from_beginning=True, timeout=2.0))
        say(out, f"topic {self.candles}, read back with isolation.level=read_committed: {len(records)} records")
        for record in records[:_SHOWN]:
            say(out, f"  {_text(record.key())}  {_text(record.value())}")
        if len(records) > _SHOWN:
            say(out, f"  ... and {len(records) - _SHOWN} more")
        say(out, "")


class Table:
    def __init__(self, url: str) -> None:
        self._url = url
        # With a password in it.
        self.environment = {_URL: url}

    def rewrite(self, sql: str) -> str:
        """A statement of its own, beside the one that prints the candles or writes them to a topic."""
        where = f"'url' = '${{{_URL}}}', 'table' = '{_TABLE}', 'table.create' = 'true', 'key' = 'symbol,minute'"
        clause = f"WITH ('connector' = 'postgres', {where})"
        columns = ", ".join((*_CANDLE, "_emission AS emission", "_revision AS revision"))
        return f"{sql.rstrip()}\n\nCREATE STREAM stored AS SELECT {columns} FROM candles\n{clause};\n"

    def show(self, out: Console) -> None:
        columns = (*_CANDLE, "emission", "revision")
        rows = read_rows(self._url, f"SELECT {', '.join(columns)}, count(*) OVER () FROM {_TABLE} ORDER BY minute, symbol LIMIT {_SHOWN}")
        total = rows[0][-1] if rows else 0
        say(out, f"table {_TABLE}, a row for each candle as it was corrected last: {total} rows")
        drawn = table(*(name if name in ("symbol", "minute", "emission") else f"{name}>" for name in columns))
        for row in rows:
            drawn.add_row(*map(str, row[:-1]))
        out.print(drawn)
        if total > len(rows):
            say(out, f"... and {total - len(rows)} more")
        say(out, "")


@contextmanager
def topics(folder: Path, tell: Say) -> Iterator[Topics]:
    """At the broker of this machine if it runs, else at one that is gone after the demo."""
    standing = local_broker(None, None)
    if standing.status().is_running:
        tell(f"the broker at {standing.address} is used; what the demo writes there stays")
        made = Topics(standing.address)
        made.fill()
        yield made
        return
    broker = LocalBroker(folder / "kafka", 0)
    tell(f"starting a Kafka broker at {broker.address} (the first time its jars are fetched) ...")
    broker.start()
    try:
        made = Topics(broker.address)
        made.fill()
        tell(f"{TRADES:,} trades are in topic {made.trades}")
        yield made
    finally:
        broker.kill()


@contextmanager
def database(url: str | None, tell: Say) -> Iterator[Table]:
    """The one that was named, else one that is gone after the demo."""
    if url is not None:
        if not url.startswith(("postgresql://", "postgres://")):
            raise UsageError(
                "WR870", "--postgres-url is not the address of a database", "--postgres-url postgresql://user:secret@host/database"
            )
        tell(f"candles go to table {_TABLE} of the database named, and stay there")
        yield Table(url)
        return
    with temporary_server("demo-postgres", lambda server: tell(f"starting a PostgreSQL server on port {server.port} ...")) as server:
        yield Table(server.dsn)


def with_clauses(sql: str, source: str, sink: str) -> str:
    """
    >>> with_clauses("CREATE STREAM a WITH ('x' = 'f(1)'); SELECT 1 WITH ('y' = '2');", "WITH ('s' = '1')", "WITH ('z' = '3')")
    "CREATE STREAM a WITH ('s' = '1'); SELECT 1 WITH ('z' = '3');"
    """
    chosen = iter((source, sink))
    return _CLAUSE.sub(lambda _: next(chosen), sql)


def made_up_trades() -> Iterator[bytes]:
    """The same every time. Like those of the packaged file: out of order by up to 5 seconds, some late by 90, some broken."""
    rng = random.Random(7)
    prices = dict.fromkeys(("ACME", "GLOBEX", "INITECH"), 100.0)
    for number in range(TRADES):
        symbol = rng.choices(tuple(prices), (3, 2, 1))[0]
        prices[symbol] *= 1 + rng.gauss(0, 0.0002)
        late = 90_000 if rng.random() < 0.002 else 0
        ts = 1_767_225_600_000 + number * 12 - rng.randrange(5_000) - late
        trade = {"symbol": symbol, "price": round(prices[symbol], 4), "volume": rng.randint(1, 500), "ts": ts}
        yield b'"a broken trade"' if rng.random() < 0.001 else json.dumps(trade).encode()


def _text(data: Any) -> str:
    return "" if data is None else data.decode("utf-8", "backslashreplace")
