"""One cluster for all tests here: a master and three workers of one core, on machines that do not see the driver's files."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.chaos.trades import chance as some_chance
from tests.cluster.driving import SMALL, Driver
from tests.cluster.namespaces import Network, network, why_not
from tests.cluster.standalone import Standalone
from tests.servers.hdfs import Hdfs, hdfs_at
from tests.servers.s3 import S3, s3
from windrow.local.kafka import LocalBroker
from windrow.packing import make_pack
from windrow.settings import load_settings
from windrow.spark.internals.java_process import stop_session
from windrow.spark.session import make_session

WORKERS = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here, reason = Path(__file__).parent, why_not()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.cluster)
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with network(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@pytest.fixture(scope="session")
def cluster(net: Network) -> Standalone:
    made = Standalone(net)
    made.start(WORKERS)
    return made


@pytest.fixture(scope="session")
def pack() -> Path:
    """This environment, for workers."""
    return make_pack(load_settings().cache_folder / "packs").path


@pytest.fixture(scope="session")
def driver(net: Network, cluster: Standalone, pack: Path) -> Driver:
    """With an environment packed for the workers; a test may leave it out."""
    made = Driver(net.host("driver", has_project=True), cluster)
    made.settings["workers.pack"] = made.bring(pack)
    return made


@pytest.fixture(scope="session")
def hdfs_server(net: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with hdfs_at(tmp_path_factory.mktemp("hdfs"), net.address) as server:
        yield server


@pytest.fixture(scope="session")
def hdfs(hdfs_server: Hdfs) -> str:
    return hdfs_server.address


@pytest.fixture(scope="session")
def bucket(net: Network) -> Iterator[tuple[S3, str]]:
    with s3(net.address) as server:
        yield server, server.make_bucket(f"windrow-{uuid.uuid4().hex[:8]}")


@pytest.fixture(scope="session")
def broker(net: Network, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalBroker]:
    made = LocalBroker(tmp_path_factory.mktemp("kafka"), 0, host=net.address)
    made.start()
    yield made
    made.kill()


@pytest.fixture(scope="module")
def spark(net: Network, cluster: Standalone, pack: Path, hdfs_server: Hdfs) -> Iterator[SparkSession]:
    """A session of this very process, for tests of many small jobs."""
    here = {"spark.driver.host": net.address, "spark.driver.bindAddress": net.address}
    session = make_session(cluster.url, {**SMALL, **here, **hdfs_server.settings, "workers.pack": str(pack)})
    yield session
    stop_session(session)


@pytest.fixture
def chance() -> random.Random:
    return some_chance()
