"""A real HDFS on this machine: a name node and a data node in a process of their own, on ports that were free."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from windrow.jars import HDFS_CLUSTER, jar_files
from windrow.java import ensure_java
from windrow.local.kafka import free_port

_SERVERS = "org.apache.hadoop.hdfs.server"
_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_START_SECONDS = 300


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """Gives its address, ``hdfs://localhost:PORT``."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "site.xml"
    log = folder / "hdfs.log"
    command = [
        _java(), "-Xmx512m", f"-Dtest.build.data={folder / 'data'}",
        "-cp", os.pathsep.join([*map(str, jar_files(HDFS_CLUSTER)), f"{_spark_jars()}/*"]),
        _MAIN, "-nomr", "-format", "-datanodes", "1", "-nnport", "0", "-writeConfig", str(config),
        # A test writes small files, and does not pull the plug.
        "-D", "dfs.namenode.fs-limits.min-block-size=1024", "-D", "dfs.replication=1", "-D", "dfs.permissions.enabled=false",
    ]  # fmt: skip
    with log.open("wb") as output:
        # It stops when its input ends, should this process die without saying so.
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder, start_new_session=True)
    try:
        deadline = time.monotonic() + _START_SECONDS
        while (address := _configured(config, "fs.defaultFS")) is None:
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-3000:]
            time.sleep(0.05)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass(frozen=True)
class Hdfs:
    """``address`` is ``hdfs://HOST:PORT``; ``page`` is where it answers over HTTP."""

    address: str
    page: str

    @property
    def settings(self) -> dict[str, str]:
        """Settings of Spark's, for those who ask over HTTP."""
        return {"spark.hadoop.dfs.namenode.http-address": self.page.removeprefix("http://")}

    def names(self, folder: str) -> list[str]:
        """The entries of a folder, by its path; none where it does not exist."""
        try:
            with urllib.request.urlopen(f"{self.page}/webhdfs/v1{folder}?op=LISTSTATUS&user.name=root", timeout=10) as answer:
                return [entry["pathSuffix"] for entry in json.load(answer)["FileStatuses"]["FileStatus"]]
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return []


@contextmanager
def hdfs_at(folder: Path, address: str) -> Iterator[Hdfs]:
    """One for other machines: a name node and a data node, each a process, that listen at one address of this one."""
    port, page = free_port(), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "fs.defaultFS": f"hdfs://{address}:{port}",
        "hadoop.tmp.dir": str(folder / "tmp"),
        "dfs.namenode.name.dir": f"file://{folder}/name",
        "dfs.datanode.data.dir": f"file://{folder}/data",
        "dfs.namenode.rpc-bind-host": address,
        "dfs.namenode.http-address": f"{address}:{page}",
        **{f"dfs.datanode.{kind}address": f"{address}:0" for kind in ("", "ipc.", "http.")},
        # Whoever asks the name node over HTTP is sent there by name.
        "dfs.datanode.hostname": address,
        # Its names are in no name server.
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.namenode.fs-limits.min-block-size": "1024",
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
    }
    entries = "".join(f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items())
    for name in ("core-site.xml", "hdfs-site.xml"):
        (folder / name).write_text(f"<configuration>{entries}</configuration>", encoding="ascii")
    java, path = _java(), os.pathsep.join([str(folder), *map(str, jar_files(HDFS_CLUSTER)), f"{_spark_jars()}/*"])
    small = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", path]
    subprocess.run([*small, f"{_SERVERS}.namenode.NameNode", "-format", "-nonInteractive"], check=True, capture_output=True)
    with (folder / "hdfs.log").open("wb") as log:
        mains = (f"{_SERVERS}.namenode.NameNode", f"{_SERVERS}.datanode.DataNode")
        nodes = [
            subprocess.Popen([*small, main], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True) for main in mains
        ]
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not _has_data_node(f"http://{address}:{page}"):
            assert all(node.poll() is None for node in nodes), (folder / "hdfs.log").read_text(errors="replace")[-3000:]
            assert time.monotonic() < deadline, "no data node came"
            time.sleep(0.1)
        yield Hdfs(settings["fs.defaultFS"], f"http://{address}:{page}")
    finally:
        for node in nodes:
            node.kill()
            node.wait()


def _has_data_node(page: str) -> bool:
    query = "/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
    try:
        with urllib.request.urlopen(page + query, timeout=5) as answer:
            return bool(json.load(answer)["beans"][0]["NumLiveDataNodes"])
    except (OSError, ValueError, LookupError):
        return False


def _java() -> str:
    return str(ensure_java(install=False).path / "bin" / "java")


def page_of(folder: Path) -> str:
    """``HOST:PORT`` where the HDFS of ``hdfs(folder)`` answers over HTTP."""
    found = _configured(folder / "site.xml", "dfs.namenode.http-address")
    assert found is not None, "it is up"
    return found


def _configured(config: Path, key: str) -> str | None:
    """Written once the cluster is up; it may be seen half written."""
    try:
        found = ElementTree.parse(config)
    except (OSError, ElementTree.ParseError):
        return None
    for entry in found.iter("property"):
        if entry.findtext("name") == key:
            return entry.findtext("value")
    return None


def _spark_jars() -> Path:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.submodule_search_locations is not None
    return Path(spark.submodule_search_locations[0], "jars")
