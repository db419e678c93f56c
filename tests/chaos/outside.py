"""Who may be killed, and the load on them: a job in a process of its own, a broker, a database, and a producer that never stops."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from windrow.local.kafka import LocalBroker
from windrow.local.postgres import PostgresServer

PARTITIONS = 2
START = 1_700_000_000_000
# Rows are out of order by less than the watermark's delay, so none is late, however they are cut into batches.
DISORDER = 2_000
STEP = 40


class Job:
    """``windrow run`` until it is killed. One that ends by itself has lost the broker; it is started again."""

    def __init__(self, sql: Path, state: Path) -> None:
        self._command = [sys.executable, "-m", "windrow", "run", str(sql), "--state", str(state), "--quiet"]
        self._state = state
        self.log = state.with_suffix(".log")
        self.ends = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """As Ctrl-C would, so that no transaction stays open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def tend(self) -> None:
        assert self._process is not None
        if self._process.poll() is not None:
            self.ends += 1
            self.start()

    def last_commit(self) -> int:
        """Spark keeps only the newest commits, so their number says nothing: the greatest does."""
        return max((int(path.name) for path in self._state.glob("*/checkpoint/commits/*") if path.name.isdigit()), default=-1)


class Load:
    """Rows at a steady rate in a thread, each with a number of its own; ``rows`` are those that were sent."""

    def __init__(self, address: str, topic: str, seed: int, rate: int) -> None:
        self._rng = random.Random(seed)
        self._topic = topic
        self._rate = rate
        self._over = threading.Event()
        self._failure: KafkaError | None = None
        self.rows: list[dict[str, Any]] = []
        # No record may be given up, however long the broker is away.
        settings = {"enable.idempotence": True, "message.timeout.ms": 0, "linger.ms": 5, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": address, "reconnect.backoff.max.ms": 500, **settings})
        self._thread = threading.Thread(target=self._run, name="load")

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """The last row of each partition is far ahead, and closes every window before it."""
        self._over.set()
        self._thread.join()
        for partition in range(PARTITIONS):
            self._send({"id": -1, "symbol": "end", "price": 0, "ts": START + len(self.rows) * STEP + 3_600_000}, partition)
        assert self._producer.flush(120) == 0
        assert self._failure is None, self._failure

    def _run(self) -> None:
        while not self._over.wait(0.1):
            for _ in range(self._rate // 10):
                number = len(self.rows)
                ts = START + number * STEP - self._rng.randrange(DISORDER)
                row = {"id": number, "symbol": self._rng.choice("ABCD"), "price": self._rng.randrange(1, 1000), "ts": ts}
                self.rows.append(row)
                self._send(row, number % PARTITIONS)

    def _send(self, row: dict[str, Any], partition: int) -> None:
        value = json.dumps(row).encode()
        while True:
            try:
                self._producer.produce(self._topic, value, partition=partition, on_delivery=self._note)
            except BufferError:
                self._producer.poll(0.2)
            else:
                self._producer.poll(0)
                return

    def _note(self, error: KafkaError | None, _message: Message) -> None:
        self._failure = self._failure or error


def make_topics(broker: LocalBroker, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    for made in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        made.result(30)


def bounce(server: LocalBroker | PostgresServer, seconds: float) -> None:
    """Killed, away for a while, back with what it had."""
    server.kill()
    time.sleep(seconds)
    server.start()


def until(condition: Callable[[], bool], job: Job, seconds: float) -> bool:
    """Whether it came to that in time. The job is kept alive meanwhile."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        job.tend()
        time.sleep(0.05)
    return True
