"""Jobs that are broken on purpose, each in a folder of its own: its file, and the state that a real run of it leaves behind.

    .venv/bin/python -m tests.broken_jobs.making FOLDER            all of them, each in a folder below this one
    .venv/bin/python -m tests.broken_jobs.making FOLDER NAME...    these

Each run starts Spark; three start a broker or a database. What the commands must say of each is in ``tests/broken_jobs/causes.py``, and
``tests/integration/test_broken_jobs.py`` makes each anew and asks them.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.broken_jobs.causes import SITUATIONS

# 2026-01-05 09:30:00, in milliseconds
START = 1_767_605_400_000
ORDERS = """CREATE STREAM orders (customer STRING, amount DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = 'in', 'format' = 'json', 'files.per_batch' = '1', 'event.time.field' = 'ts'{more}
);
"""
REVENUE = """CREATE STREAM revenue AS SELECT customer, SUM(amount) AS revenue, COUNT(*) AS orders FROM orders{where}
GROUP BY customer WINDOW TUMBLING(1m){more}
WITH ('connector' = 'files', 'path' = 'out', 'format' = 'json');
"""
Row = dict[str, Any]
# Bytes of the state that the commands read; the rest of a checkpoint, Spark alone reads.
_KEPT = ("job.json", "records", "events", "state", "dead_letters", "offsets", "commits")


def order(n: int, at: int | None = None, customer: str | None = None) -> Row:
    """Order ``n``, one a second; ``at`` is its second."""
    return {"customer": customer or f"c{n % 5}", "amount": 10.0 + n % 7, "ts": START + 1000 * (n if at is None else at)}


def write_input(rows: Sequence[Row], per_file: int = 60) -> None:
    folder = Path("in")
    folder.mkdir()
    stamp = time.time() - 1000
    for number, first in enumerate(range(0, len(rows), per_file)):
        path = folder / f"{number:02}.json"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows[first : first + per_file]))
        os.utime(path, (stamp + number, stamp + number))


def run(sql: str, mode: str = "once", during: Callable[[Any], None] = lambda _: None, **settings: str) -> None:
    """The job as ``windrow run q.sql`` runs it; ``during`` may look at it and touch what it reads. It may fail."""
    import windrow
    from windrow.errors import WindrowError

    Path("q.sql").write_text(sql)
    chosen = {name.replace("__", "."): value for name, value in settings.items()}
    jobs = windrow.run(
        windrow.compile(sql, name="q.sql"),
        spark=_session(),
        mode=mode,  # type: ignore[arg-type]
        state=".windrow/q",
        settings=chosen,
    )
    try:
        during(jobs)
        if mode != "continuous":
            jobs.await_end(300)
    except WindrowError as error:
        print(f"  it ended with {str(error).splitlines()[0]}")
    finally:
        jobs.stop()


def _session() -> Any:
    """In the folder where relative paths are meant to begin: each situation has a process of its own."""
    from windrow.jars import KAFKA_CONNECTOR, jar_files
    from windrow.spark.session import make_session

    return make_session("local[2]", {"spark.jars": ",".join(map(str, jar_files(KAFKA_CONNECTOR)))})


def until(is_so: Callable[[], bool], what: str, seconds: float = 240.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


@contextmanager
def broker() -> Iterator[Any]:
    from windrow.local.kafka import LocalBroker

    with tempfile.TemporaryDirectory() as folder:
        made = LocalBroker(Path(folder), 0)
        made.start()
        try:
            yield made
        finally:
            made.kill()


def topic_orders(address: str, more: str = "") -> str:
    return f"""CREATE STREAM orders (customer STRING, amount DOUBLE, ts BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'bootstrap.servers' = '{address}', 'format' = 'json', 'event.time.field' = 'ts'{more}
);
"""


def create_topic(address: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    # Kept until it has answered: a client that is let go gives up.
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic("orders", partitions, 1)])["orders"].result(30)


def send(address: str, partition: int, rows: Iterable[Row]) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": address})
    for row in rows:
        producer.produce("orders", json.dumps(row), partition=partition)
    assert producer.flush(30) == 0


def _has_read(jobs: Any, rows: int) -> bool:
    return bool(jobs.status()[0].rows_in >= rows)


def idle_partition() -> None:
    """Partition 1 has two rows, then nothing; partition 0 goes on."""
    with broker() as own:
        create_topic(own.address, 2)
        send(own.address, 1, [order(5), order(9)])

        def go_on(jobs: Any) -> None:
            began, sent = time.monotonic(), 0
            while time.monotonic() - began < 13 or sent < 300:
                send(own.address, 0, [order(n) for n in range(sent, sent + 60)])
                sent += 60
                until(partial(_has_read, jobs, sent + 2), "rows are not read")

        sql = topic_orders(own.address, ", 'watermark.delay' = '5s'") + REVENUE.format(where="", more="")
        run(sql, "continuous", go_on)


def future_row() -> None:
    rows = [order(n) for n in range(240)]
    rows[70] = {**rows[70], "ts": 4_102_444_800_000}  # the year 2100
    write_input(rows)
    run(ORDERS.format(more=", 'watermark.delay' = '5s'") + REVENUE.format(where="", more=""))


def wrong_unit() -> None:
    """Seconds, read as milliseconds: the year 1970."""
    write_input([{**order(n), "ts": START // 1000 + n} for n in range(240)])
    run(ORDERS.format(more=", 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s'") + REVENUE.format(where="", more=""))


def wrong_unit_future() -> None:
    """Milliseconds, read as seconds: far in the future."""
    write_input([order(n) for n in range(240)])
    run(ORDERS.format(more=", 'event.time.format' = 'epoch_seconds', 'watermark.delay' = '5s'") + REVENUE.format(where="", more=""))


def short_delay() -> None:
    """One row in ten is 47 seconds older than its neighbours; batches end within windows."""
    write_input([order(n, n - 47 if n % 10 == 9 and n > 60 else n) for n in range(600)], per_file=50)
    run(ORDERS.format(more=", 'watermark.delay' = '2s'") + REVENUE.format(where="", more=""))


def skewed_key() -> None:
    write_input([order(n, n // 20, "guest" if n % 20 else f"c{n // 20 % 5}") for n in range(2400)], per_file=600)
    run(ORDERS.format(more=", 'watermark.delay' = '5s'") + REVENUE.format(where="", more=""))


def slow_sink() -> None:
    """A database whose trigger takes 150 ms for each row: longer than Spark does on a machine that has much else to do."""
    from windrow.local.postgres import temporary_server

    slow = (
        "CREATE TABLE paid (customer text, amount double precision)",
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.15); RETURN NEW; END'",
        "CREATE TRIGGER slow BEFORE INSERT ON paid FOR EACH ROW EXECUTE FUNCTION wait()",
    )
    write_input([order(n) for n in range(300)])
    with temporary_server("postgres") as server:
        server.execute(*slow)
        os.environ["PAID_URL"] = server.dsn
        sql = ORDERS.format(more="") + (
            "CREATE STREAM paid AS SELECT customer, amount FROM orders\n"
            "WITH ('connector' = 'postgres', 'url' = '${PAID_URL}', 'table' = 'paid');\n"
        )
        run(sql)


def broker_away() -> None:
    with broker() as own:
        create_topic(own.address, 1)
        send(own.address, 0, [order(n) for n in range(100)])

        def take_away(jobs: Any) -> None:
            until(partial(_has_read, jobs, 100), "rows are not read")
            own.kill()
            until(lambda: jobs.status()[0].state == "waiting", "the job does not see that its broker is away", 300)

        more = ", 'kafka.default.api.timeout.ms' = '2000', 'kafka.request.timeout.ms' = '1500', 'topic.wait.timeout' = '2s'"
        run(topic_orders(own.address, more) + REVENUE.format(where="", more=""), "continuous", take_away)


def stale_table() -> None:
    """The file of the table is torn after the first load."""
    Path("customers.json").write_text('{"customer": "c1", "country": "IT"}\n{"customer": "c2", "country": "AT"}\n')
    write_input([order(n) for n in range(60)])
    sql = ORDERS.format(more="") + (
        "CREATE TABLE customers (customer STRING, country STRING, PRIMARY KEY (customer)) WITH (\n"
        "  'connector' = 'files', 'path' = 'customers.json', 'format' = 'json', 'refresh.interval' = '1ms'\n);\n"
        "CREATE STREAM placed AS SELECT o.customer, o.amount, c.country FROM orders o LEFT JOIN customers c ON o.customer = c.customer\n"
        "WITH ('connector' = 'files', 'path' = 'out', 'format' = 'json');\n"
    )

    def tear(jobs: Any) -> None:
        until(partial(_has_read, jobs, 60), "rows are not read")
        Path("customers.json").unlink()
        for n in range(5):
            path = Path(f"in/later-{n}.json")
            path.with_suffix(".part").write_text(json.dumps(order(60 + n)) + "\n")
            path.with_suffix(".part").rename(path)
            until(partial(_has_read, jobs, 61 + n), "rows are not read")

    run(sql, "continuous", tear)


SPENT = """CREATE STREAM spent AS SELECT customer, SUM(amount) AS spent FROM orders GROUP BY customer
WITH ('connector' = 'files', 'path' = 'out', 'format' = 'json');
"""


def state_limit() -> None:
    """A group for each customer, kept for ever, and room for 100 of them."""
    write_input([order(n, customer=f"c{n}") for n in range(88)], per_file=44)
    run(ORDERS.format(more="") + SPENT, state__max_groups="100")


def state_full() -> None:
    """The same with more customers than there is room for."""
    write_input([order(n, customer=f"c{n}") for n in range(132)], per_file=44)
    run(ORDERS.format(more="") + SPENT, state__max_groups="100")


def empty_filter() -> None:
    write_input([order(n) for n in range(240)])
    run(ORDERS.format(more=", 'watermark.delay' = '5s'") + REVENUE.format(where=" WHERE amount > 1000", more=""))


def make(name: str, target: Path) -> None:
    """In a process of its own: Spark keeps the folder in which it was started."""
    import subprocess

    with tempfile.TemporaryDirectory(prefix="broken-") as work:
        command = [sys.executable, "-c", f"from tests.broken_jobs import making; making.{name}()"]
        paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
        subprocess.run(command, cwd=work, env={**os.environ, "PYTHONPATH": paths}, check=True)
        _keep(Path(work), target / name)


def _keep(made: Path, target: Path) -> None:
    """What the commands read, without Spark's own files."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    shutil.copy(made / "q.sql", target)
    state = made / ".windrow"
    for path in sorted(state.rglob("*")):
        inside = path.relative_to(state)
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".rows" and any(part in _KEPT for part in inside.parts):
            place = target / "state" / inside
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


def main(words: list[str]) -> None:
    if not words:
        sys.exit(__doc__)
    target = Path(words[0]).absolute()
    for name in words[1:] or SITUATIONS:
        make(name, target)
        print(name, sum(path.stat().st_size for path in (target / name).rglob("*") if path.is_file()), "bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
