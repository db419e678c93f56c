"""File systems of Hadoop's that these tests start for themselves, reached through a JVM without Spark's own start."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from tests.servers.hdfs import hdfs, page_of
from tests.servers.s3 import s3
from windrow.storage import Folder
from windrow.storage.hadoop import HadoopFolder
from windrow.storage.jvm import Hadoop, start_hadoop


@dataclass(frozen=True)
class Store:
    """A file system: its root, and how it is reached."""

    root: str
    hadoop: Hadoop
    settings: dict[str, str] = field(default_factory=dict)

    def folder(self) -> Folder:
        """A new one."""
        return HadoopFolder(self.hadoop, f"{self.root}/{uuid.uuid4().hex}")

    def reach(self, folder: Folder) -> list[str]:
        return [folder.path, json.dumps(self.settings)]


@pytest.fixture(scope="session")
def hdfs_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("hdfs")
    with hdfs(folder) as address:
        settings = {"spark.hadoop.dfs.namenode.http-address": page_of(folder)}
        yield Store(address, start_hadoop(settings), settings)


@pytest.fixture(scope="session")
def s3_store() -> Iterator[Store]:
    with s3() as server:
        yield Store(server.make_bucket("windrow"), start_hadoop(server.settings), server.settings)
