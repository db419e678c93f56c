"""``windrow kafka``, ``produce`` and ``consume``: a broker on this machine, and records into and out of any."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.files import STDIN

if TYPE_CHECKING:
    from windrow.local.kafka import LocalBroker
    from windrow.local.topics import Cluster

Port = Annotated[int | None, typer.Option("--port", help="Port to listen on; 9092 if not given.", min=1, max=65535, show_default=False)]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of its records and its log.", metavar="DIR", show_default=False)]
Wipe = Annotated[bool, typer.Option("--wipe", help="Remove its records too.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.", show_default=False)]
Lines = Annotated[str, typer.Argument(metavar="FILE", help="JSON lines; - reads standard input.", show_default=False)]
Servers = Annotated[
    str | None,
    typer.Option("--bootstrap-servers", "-b", help="Brokers to ask first; the one on this machine if not given.", metavar="HOST:PORT"),
]
Client = Annotated[
    list[str] | None, typer.Option("-X", help="A setting of the Kafka client; repeatable.", metavar="KEY=VALUE", show_default=False)
]
KeyField = Annotated[str | None, typer.Option("--key", help="Field whose value is the record's key.", metavar="FIELD", show_default=False)]
Headers = Annotated[
    list[str] | None, typer.Option("--header", help="A header of every record; repeatable.", metavar="NAME=VALUE", show_default=False)
]


def up(port: Port = None, data: Data = None) -> None:
    """Start a Kafka broker on this machine, in the background. The first time its jars are fetched."""
    broker = local_broker(data, port)
    if broker.status().is_running and port in (None, broker.port):
        print(f"running already at {broker.address}")
        return
    print(f"starting a broker at {broker.address} ...", file=sys.stderr)
    broker.start()
    print(f"running at {broker.address} · records in {broker.folder} · stop it with: windrow kafka down{_data_option(data)}")


def down(data: Data = None, wipe: Wipe = False) -> None:
    """Stop the broker on this machine. Its records stay, unless --wipe is given."""
    broker = local_broker(data, None)
    was_running = broker.status().is_running
    broker.stop()
    print(f"stopped {broker.address}" if was_running else "no broker was running")
    if wipe:
        broker.wipe()
        print(f"removed its records in {broker.folder}")


def status(data: Data = None) -> None:
    """Tell whether the broker on this machine runs; exit code 1 if not."""
    found = local_broker(data, None).status()
    if not found.is_running:
        print("not running; start it with: windrow kafka up")
        raise typer.Exit(1)
    print(f"running at {found.address} · process {found.pid} · records in {found.folder} · log in {found.log}")


def produce(
    topic: Topic,
    file: Lines,
    servers: Servers = None,
    key: KeyField = None,
    header: Headers = None,
    create: Annotated[bool, typer.Option("--create", help="Make the topic if it is missing.")] = False,
    partitions: Annotated[int, typer.Option("--partitions", help="Partitions of a topic that is made.", min=1)] = 1,
    rate: Annotated[float | None, typer.Option("--rate", help="Records a second.", min=0.001, show_default=False)] = None,
    client: Client = None,
) -> None:
    """Send a file of JSON lines to a topic, a record each."""
    from windrow.local import topics

    cluster = _cluster(servers, client)
    pairs: list[tuple[str, str | bytes | None]] = [(name, value.encode()) for name, value in _pairs("--header", header)]
    with _opened(file) as lines, _progress(file) as advance:
        if create:
            cluster.create(topic, partitions)
        cluster.need(topic)
        sent = topics.produce(cluster, topic, lines, key=key, headers=pairs, rate=rate, on_sent=advance)
    print(f"{sent:,} records sent to {topic}", file=sys.stderr)


def consume(
    topic: Topic,
    servers: Servers = None,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="With the records that are there already.")] = False,
    most: Annotated[int | None, typer.Option("--max", help="Stop after so many records.", min=1, show_default=False)] = None,
    timeout: Annotated[str | None, typer.Option("--timeout", help="Stop when none came for so long: 5s.", show_default=False)] = None,
    key: Annotated[bool, typer.Option("--key", help="Print the key before the value.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Print the headers before the value.")] = False,
    uncommitted: Annotated[bool, typer.Option("--uncommitted", help="Also what open or aborted transactions wrote.")] = False,
    client: Client = None,
) -> None:
    """Print the records of a topic as they come, until Ctrl-C."""
    from itertools import islice

    from windrow.local import topics

    isolation = "read_uncommitted" if uncommitted else "read_committed"
    records = topics.consume(
        _cluster(servers, client), topic, from_beginning=from_beginning, isolation=isolation, timeout=_seconds(timeout)
    )
    try:
        for record in islice(records, most):
            parts = [_text(record.key())] if key else []
            parts += [json.dumps({name: _text(value) for name, value in _listed(record.headers())})] if headers else []
            print("\t".join([*parts, _text(record.value())]), flush=True)
    except KeyboardInterrupt:
        # How one leaves a command that has no end of its own.
        pass
    finally:
        records.close()  # type: ignore[attr-defined]  # a generator


def local_broker(data: Path | None, port: int | None) -> LocalBroker:
    from windrow.local.kafka import LocalBroker
    from windrow.settings import user_folder

    return LocalBroker(data or user_folder() / "kafka", port)


def _data_option(data: Path | None) -> str:
    return f" --data {data}" if data else ""


def _cluster(servers: str | None, client: list[str] | None) -> Cluster:
    from windrow.local.topics import Cluster

    return Cluster(servers or local_broker(None, None).address, dict(_pairs("-X", client)))


def _pairs(option: str, entries: list[str] | None) -> list[tuple[str, str]]:
    from windrow.errors import UsageError

    pairs = [entry.partition("=") for entry in entries or []]
    for name, equals, _ in pairs:
        if not name.strip() or not equals:
            # The value may be a secret.
            raise UsageError(codes.BAD_VALUE, f"{option} takes NAME=VALUE", f"{option} name=value")
    return [(name.strip(), value) for name, _, value in pairs]


def _seconds(text: str | None) -> float | None:
    from windrow.errors import UsageError
    from windrow.sql import parse_duration

    if text is None:
        return None
    micros = parse_duration(text)
    if micros is None:
        raise UsageError(codes.BAD_VALUE, f"--timeout {text} is not a duration", "--timeout 5s")
    return micros / 1_000_000


def _text(data: str | bytes | None) -> str:
    """Bytes that are no text are shown by their numbers."""
    return "null" if data is None else data if isinstance(data, str) else data.decode("utf-8", "backslashreplace")


def _listed(headers: Any) -> list[tuple[str, bytes | None]]:
    return list(headers or ())


def _opened(file: str) -> Any:
    from windrow.errors import UsageError

    if file == STDIN:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(file).open("rb")
    except OSError as error:
        raise UsageError(codes.NO_FILE, f"cannot read {file}: {error.strerror}", "give the path of a file of JSON lines") from None


@contextmanager
def _progress(file: str) -> Iterator[Any]:
    """A bar by the bytes of the file, on a terminal."""
    if file == STDIN or not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(Path(file).name, total=Path(file).stat().st_size)
        yield lambda taken: progress.advance(task, taken)
