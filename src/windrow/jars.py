"""Jars that pyspark does not bring: fetched by their coordinates when first needed, held to the checksums of ``jars.lock.toml``.

They come from Maven Central through the Ivy inside pyspark, or from wherever the user's own Ivy settings point, and stay in a
folder of the user's cache. Two processes may ask at once.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from windrow.errors import UsageError
from windrow.java import ensure_java
from windrow.settings import load_settings

LOCK = "jars.lock.toml"
KAFKA_CONNECTOR, KAFKA_BROKER = "kafka-connector", "kafka-broker"
HDFS_CLUSTER, S3A, H2 = "hdfs-cluster", "s3a", "h2"
"""Groups: what Spark needs for Kafka, a whole broker and a whole HDFS for this machine, what Spark needs for S3, a database in one jar."""

NOT_FETCHED, NOT_THE_SAME, NO_CACHE = "WR602", "WR603", "WR604"

_FETCH_SECONDS = 900
_SETTINGS_HINT = "with a mirror, set WINDROW_IVY_SETTINGS to an ivysettings.xml that names it; behind a proxy, set HTTPS_PROXY"


@dataclass(frozen=True)
class Jar:
    organisation: str
    name: str
    version: str
    sha256: str

    @staticmethod
    def of(coordinates: str, sha256: str) -> Jar:
        """
        >>> Jar.of("org.slf4j:slf4j-api:1.7.36", "ab").file_name
        'slf4j-api-1.7.36.jar'
        """
        organisation, name, version = coordinates.split(":")
        return Jar(organisation, name, version, sha256)

    @property
    def coordinates(self) -> str:
        return f"{self.organisation}:{self.name}:{self.version}"

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"


def locked_jars(group: str) -> tuple[Jar, ...]:
    return tuple(Jar.of(coordinates, sha256) for coordinates, sha256 in _lock()[group].items())


def jar_groups() -> tuple[str, ...]:
    return tuple(_lock())


@cache
def _lock() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("windrow").joinpath(LOCK).read_text(encoding="utf-8"))


def jar_files(group: str) -> list[Path]:
    """The files of a group, fetched first where they are not there yet. What is given has been held to its checksum just now."""
    jars = locked_jars(group)
    folder = load_settings().cache_folder / "jars"
    missing = [jar for jar in jars if not _is_whole(folder, jar)]
    if missing:
        with _one_at_a_time(folder):
            # Another process may have fetched them while this one waited.
            missing = [jar for jar in missing if not _is_whole(folder, jar)]
            if missing:
                _fetch_into(folder, missing)
    return [folder / jar.file_name for jar in jars]


def _is_whole(folder: Path, jar: Jar) -> bool:
    try:
        return sha256_of(folder / jar.file_name) == jar.sha256
    except OSError:
        return False


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch_into(folder: Path, jars: list[Jar]) -> None:
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as fresh:
        fetch(jars, Path(fresh), folder / "ivy")
        for jar in jars:
            found = sha256_of(Path(fresh, jar.file_name))
            if found != jar.sha256:
                raise UsageError(
                    NOT_THE_SAME,
                    f"{jar.coordinates} has the SHA-256 {found}, and {jar.sha256} was expected",
                    f"somebody changed the file, or a mirror is broken: remove {folder / 'ivy'} and try again from another place",
                )
            os.replace(Path(fresh, jar.file_name), folder / jar.file_name)


def fetch(jars: Iterable[Jar], folder: Path, ivy_cache: Path) -> None:
    """Bring jars into a folder, each alone, without what it depends on. Their checksums are the caller's to compare."""
    wanted = list(jars)
    order = folder / "wanted.xml"
    order.write_text(_ivy_file(wanted), encoding="utf-8")
    settings = load_settings().ivy_settings
    command = [
        str(ensure_java(install=False).path / "bin" / "java"),
        *_proxy_options(urllib.request.getproxies()),
        "-jar", str(_ivy_jar()),
        *(["-settings", str(settings)] if settings else []),
        "-cache", str(ivy_cache),
        "-ivy", str(order),
        "-types", "jar", "bundle",
        "-retrieve", f"{folder}/[artifact]-[revision].[ext]",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=_FETCH_SECONDS, stdin=subprocess.DEVNULL, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise UsageError(NOT_FETCHED, f"jars could not be fetched in {_FETCH_SECONDS // 60} minutes", _SETTINGS_HINT) from None
    missing = [jar for jar in wanted if not Path(folder, jar.file_name).is_file()]
    if missing:
        others = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        reason = _reason(done.stdout + done.stderr)
        raise UsageError(NOT_FETCHED, f"{missing[0].coordinates}{others} could not be fetched: {reason}", _SETTINGS_HINT)


def _ivy_file(jars: Iterable[Jar]) -> str:
    """What Ivy is asked for. Only the file itself of each module, at its exact version."""
    lines = [
        f"<dependency org={quoteattr(jar.organisation)} name={quoteattr(jar.name)} rev={quoteattr(jar.version)} "
        'transitive="false" force="true" conf="default->master"/>'
        for jar in jars
    ]
    return (
        '<ivy-module version="2.0"><info organisation="windrow" module="jars"/><configurations><conf name="default"/></configurations>'
        f"<dependencies>{''.join(lines)}</dependencies></ivy-module>"
    )


def _ivy_jar() -> Path:
    spark = find_spec("pyspark")
    places = (spark.submodule_search_locations if spark else None) or []
    found = [jar for place in places for jar in Path(place, "jars").glob("ivy-*.jar")]
    if not found:
        raise UsageError(NOT_FETCHED, "this pyspark has no Ivy in its jars folder, so no jar can be fetched", "pip install pyspark")
    return found[0]


def _proxy_options(proxies: dict[str, str]) -> list[str]:
    """Java does not read the variables that every other program takes its proxy from.

    >>> _proxy_options({"https": "http://proxy.example:3128", "no": "localhost"})
    ['-Dhttps.proxyHost=proxy.example', '-Dhttps.proxyPort=3128']
    """
    options: list[str] = []
    for scheme in ("http", "https"):
        address = urlsplit(proxies.get(scheme, ""))
        if address.hostname:
            options += [f"-D{scheme}.proxyHost={address.hostname}", f"-D{scheme}.proxyPort={address.port or 80}"]
    return options


def _reason(said: str) -> str:
    """The line of Ivy's report that tells most."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for sign in ("UnknownHostException", "ConnectException", "Server access error", "SSLHandshake", "timed out"):
        if any(sign in line for line in lines):
            return "the repository cannot be reached: no network, or none to it"
    unresolved = next((line for line in lines if "UNRESOLVED DEPENDENCY" in line or "not found" in line), None)
    return (unresolved or (lines[-1] if lines else "Ivy said nothing")).removeprefix(":: ")


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = (folder / ".lock").open("w", encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(
            NO_CACHE, f"jars cannot be kept in {folder}: {reason}", "set WINDROW_CACHE to a folder that you can write"
        ) from None
    with held:
        try:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass  # Without locks two processes fetch the same files, and put them in place whole.
        yield
