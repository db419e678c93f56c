"""The names that OpenLineage gives to what is outside: topics, tables, folders. By them, files that share one are linked."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.lineage.graph import Dataset

# Connectors whose rows are nobody else's: made up, shown, or of a test.
_OWN = frozenset({"console", "memory", "generator"})


def outside(connector: str, options: Mapping[str, str]) -> tuple[Dataset, ...]:
    """What a source or sink is of; nothing where no one else can name it. A source may read several topics."""
    if connector in _OWN:
        return ()
    match connector:
        case "kafka":
            server = f"kafka://{_first_server(options)}"
            topics = [topic.strip() for topic in options.get("topic", "").split(",") if topic.strip()]
            if not topics:
                return (Dataset(server, options.get("topic.pattern", ""), is_outside=True, is_pattern=True),)
            return tuple(Dataset(server, topic, is_outside=True) for topic in topics)
        case "postgres":
            host, port, database = _server(options)
            name = ".".join((database, options.get("schema", "public"), options.get("table", "")))
            return (Dataset(f"postgres://{host}:{port}", name, is_outside=True),)
        case "files":
            return (_of_path(options.get("path", "")),)
        case "otap":
            folder = _of_path(options.get("path", ""))
            return (Dataset(folder.namespace, f"{folder.name}#{options.get('table', '')}", is_outside=True),)
        case _:
            # A package's own connector: whatever tells where it is.
            place = next((options[key] for key in ("endpoint", "url", "path", "topic", "table", "name") if key in options), "")
            return (Dataset(connector, place, is_outside=True),)


def _first_server(options: Mapping[str, str]) -> str:
    """
    >>> _first_server({"bootstrap.servers": "a:9092, b:9092"}), _first_server({"bootstrap.servers": "a"})
    ('a:9092', 'a:9092')
    """
    server = options.get("bootstrap.servers", "").split(",")[0].strip()
    return server if ":" in server else f"{server}:9092"


def _server(options: Mapping[str, str]) -> tuple[str, str, str]:
    """Host, port and database, as an URL or one by one.

    >>> _server({"url": "postgresql://me@db/shop?sslmode=require"}), _server({"host": "db", "port": "5433", "database": "shop"})
    (('db', '5432', 'shop'), ('db', '5433', 'shop'))
    """
    place, _, path = options.get("url", "").partition("://")[2].partition("?")[0].partition("/")
    host, _, port = place.rpartition("@")[2].partition(":")
    return options.get("host") or host, options.get("port") or port or "5432", options.get("database") or path


def _of_path(path: str) -> Dataset:
    """
    >>> str(_of_path("s3a://bucket/in/")), str(_of_path("file:///data/in")), str(_of_path("data/in/*.json"))
    ('s3://bucket/in', 'file//data/in', 'file/data/in')
    >>> _of_path("hdfs://nn:8020/in").name
    '/in'
    """
    scheme, found, rest = path.partition("://")
    rest, path = _folder(rest), _folder(path)
    if not found or scheme == "file":
        return Dataset("file", rest if found else path, is_outside=True)
    place, _, key = rest.partition("/")
    # Hadoop has several names for S3, and OpenLineage one. What is no object store has paths.
    known = "s3" if scheme in ("s3a", "s3n") else scheme
    return Dataset(f"{known}://{place}", f"/{key}" if scheme in ("hdfs", "viewfs") else key, is_outside=True)


def _folder(path: str) -> str:
    """Without a last part that is a pattern: who writes a folder and who reads its files mean the same."""
    path = path.rstrip("/").removeprefix("./")
    before, _, last = path.rpartition("/")
    return before if before and "*" in last else path
