"""A Kafka broker of one node on this machine, from the jars of the lock: no installation, no container, no ZooKeeper."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from windrow.errors import UsageError
from windrow.jars import KAFKA_BROKER, jar_files
from windrow.java import ensure_java

HOST = "127.0.0.1"
DEFAULT_PORT = 9092
START_SECONDS = 60.0
STOP_SECONDS = 20.0

PORT_IN_USE, DID_NOT_START, RUNS_ELSEWHERE = "WR864", "WR865", "WR866"

# Small: it serves one person. The first compiler only, because it starts faster and no one waits for the last per cent.
_JVM = ("-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSS",
)


@dataclass(frozen=True)
class BrokerStatus:
    is_running: bool
    address: str
    pid: int | None
    folder: Path
    log: Path


@dataclass(frozen=True)
class Entrance:
    """Who a broker lets in: ``settings`` of its own beside the protocol, passwords (SCRAM-SHA-256) of its ``users``.

    ``client`` is how one of them gets in, by which the broker is asked whether it has started.
    """

    protocol: str
    settings: Mapping[str, str]
    users: Mapping[str, str]
    client: Mapping[str, str]


EVERYBODY = Entrance("PLAINTEXT", {}, {}, {})


class LocalBroker:
    """One broker a folder: its records, its log and who runs it stay there, so any process can ask for it or stop it."""

    def __init__(self, folder: Path, port: int | None = None, entrance: Entrance = EVERYBODY, host: str = HOST) -> None:
        """``port``: None takes the port it had before, else the usual one. 0 takes any that is free.

        ``host`` is the address of this machine that clients reach it at.
        """
        self.folder = folder.absolute()
        self._entrance = entrance
        self._host = host
        card = self._card()
        self.port = int(card.get("port", DEFAULT_PORT)) if port is None else port or free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{self._host}:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "broker.log"

    def status(self) -> BrokerStatus:
        pid = self._running_pid()
        return BrokerStatus(pid is not None, self.address, pid, self.folder, self.log)

    def start(self) -> None:
        """Returns when it answers. Starting one that runs already does nothing."""
        pid, card = self._running_pid(), self._card()
        if pid is not None:
            if card["port"] == self.port:
                return
            raise UsageError(
                RUNS_ELSEWHERE,
                f"the broker of {self.folder} runs already, on port {card['port']}",
                "stop it first: windrow kafka down",
            )
        if not is_free(self.port):
            raise UsageError(PORT_IN_USE, f"port {self.port} of {HOST} is in use", f"windrow kafka up --port {free_port()}")
        jars = os.pathsep.join(map(str, jar_files(KAFKA_BROKER)))
        java = str(ensure_java(install=False).path / "bin" / "java")
        properties = self._write_properties()
        command = [java, *_JVM, *_LOGGING, "-cp", jars]
        users = [f"--add-scram=SCRAM-SHA-256=[name={name},password={password}]" for name, password in self._entrance.users.items()]
        self._format([*command, "kafka.tools.StorageTool", "format", f"--cluster-id={_cluster_id()}", "--config", str(properties), *users])
        with self.log.open("ab") as log:
            # A session of its own: it outlives this program and never sees its Ctrl-C.
            self._process = subprocess.Popen(
                [*command, "kafka.Kafka", str(properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
            )
        self._write_card(self._process.pid)
        self._await_answer()

    def stop(self) -> None:
        """Lets it close its files. What it holds stays."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Without a chance to tidy up, as a crash would."""
        self._end(signal.SIGKILL)

    def wipe(self) -> None:
        """Remove what it holds, once it is stopped. Only what is its own: the folder may have been somebody else's before."""
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        for own in ("server.properties", "broker.json", "broker.log"):
            (self.folder / own).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _end(self, number: signal.Signals) -> None:
        pid = self._running_pid()
        if pid is None:
            return
        os.kill(pid, number)
        deadline = time.monotonic() + STOP_SECONDS
        while self._running_pid() is not None:
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                deadline = time.monotonic() + STOP_SECONDS
            time.sleep(0.05)

    def _format(self, command: Sequence[str]) -> None:
        if (self.folder / "data" / "meta.properties").is_file():
            return
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, cwd=self.folder)
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip().splitlines()
            raise UsageError(
                DID_NOT_START,
                f"the broker's folder {self.folder} cannot be made ready: {said[-1] if said else 'no reason given'}",
                "name another folder: windrow kafka up --data DIR",
            )

    def _await_answer(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not answers(self.address, self._entrance.client):
            if self._running_pid() is None or time.monotonic() > deadline:
                self.kill()
                raise UsageError(DID_NOT_START, f"the broker did not start: {_last_error(self.log)}", f"see {self.log}")
            time.sleep(0.1)

    def _write_properties(self) -> Path:
        # What the broker says to itself needs no password, and goes another way.
        controller, inside = (self._own_port(name) for name in ("controller", "inside"))
        protocol = self._entrance.protocol
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{HOST}:{controller}",
            "listeners": f"CLIENT://{self._host}:{self.port},INSIDE://{HOST}:{inside},CONTROLLER://{HOST}:{controller}",
            "advertised.listeners": f"CLIENT://{self.address},INSIDE://{HOST}:{inside}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "INSIDE",
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT,CLIENT:{protocol}",
            "log.dirs": str(self.folder / "data"),
            # A misspelt topic is an error to be told about, not a new topic.
            "auto.create.topics.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "4",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            # Records may be older than the week that is usual: what is tried out here is often a replay.
            "log.retention.ms": "-1",
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "4",
            # A broker that was killed may come back at once, and not only after the nine seconds that are usual.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            # The usual buffer is half of this heap.
            "log.cleaner.dedupe.buffer.size": "16777216",
            **self._entrance.settings,
        }
        path = self.folder / "server.properties"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), encoding="utf-8")
            card = {"port": self.port, "controller": controller, "inside": inside}
            (self.folder / "broker.json").write_text(json.dumps(card), encoding="utf-8")
        except OSError as error:
            reason = error.strerror or str(error)
            raise UsageError(
                DID_NOT_START, f"the broker's folder {self.folder} cannot be written: {reason}", "windrow kafka up --data DIR"
            ) from None
        return path

    def _own_port(self, name: str) -> int:
        had = int(self._card().get(name, 0))
        return had if had and is_free(had) else free_port()

    def _write_card(self, pid: int) -> None:
        (self.folder / "broker.json").write_text(json.dumps({**self._card(), "pid": pid}), encoding="utf-8")

    def _card(self) -> dict[str, int]:
        try:
            card: dict[str, int] = json.loads((self.folder / "broker.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return card

    def _running_pid(self) -> int | None:
        """Who runs the broker of this folder. A number alone proves nothing: it may long be another program's."""
        if self._process is not None:
            return self._process.pid if self._process.poll() is None else None
        pid = self._card().get("pid")
        return pid if pid is not None and str(self.folder / "server.properties") in _command_line(pid) else None


def answers(address: str, client: Mapping[str, str] | None = None, seconds: float = 2.0) -> bool:
    """Whether a broker there lets itself be asked for its topics."""
    host, _, port = address.rpartition(":")
    with suppress(OSError), closing(socket.create_connection((host, int(port)), timeout=seconds)):
        # The client of the broker logs every refused connection, so it is asked once somebody listens.
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with suppress(KafkaException):
            AdminClient({"bootstrap.servers": address, "socket.timeout.ms": 2000, "log_level": 0, **(client or {})}).list_topics(
                timeout=seconds
            )
            return True
    return False


def is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _cluster_id() -> str:
    """May begin with a hyphen, which must not be taken for an option."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _command_line(pid: int) -> str:
    """Empty where there is no such process, or only what is left of one."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        pass
    with suppress(OSError):
        return subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return ""


def _last_error(log: Path) -> str:
    with suppress(OSError):
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if "ERROR" in line or "Exception" in line]
        if errors or lines:
            return (errors or lines)[-1][:300]
    return "its log is empty"
