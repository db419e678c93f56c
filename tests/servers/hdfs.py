"""A real HDFS on this machine: a name node and a data node in a process of their own, on ports that were free."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from windrow.jars import HDFS_CLUSTER, jar_files
from windrow.java import ensure_java

_MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
_START_SECONDS = 300


@contextmanager
def hdfs(folder: Path) -> Iterator[str]:
    """Gives its address, ``hdfs://localhost:PORT``."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "site.xml"
    log = folder / "hdfs.log"
    command = [
        str(ensure_java(install=False).path / "bin" / "java"), "-Xmx512m", f"-Dtest.build.data={folder / 'data'}",
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
        while (address := _address(config)) is None:
            assert process.poll() is None, log.read_text(errors="replace")[-3000:]
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-3000:]
            time.sleep(0.05)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _address(config: Path) -> str | None:
    """Written once the cluster is up; it may be seen half written."""
    try:
        found = ElementTree.parse(config)
    except (OSError, ElementTree.ParseError):
        return None
    for entry in found.iter("property"):
        if entry.findtext("name") == "fs.defaultFS":
            return entry.findtext("value")
    return None


def _spark_jars() -> Path:
    spark = find_spec("pyspark")
    assert spark is not None
    assert spark.submodule_search_locations is not None
    return Path(spark.submodule_search_locations[0], "jars")
