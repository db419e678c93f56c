"""Servers that tests talk to, started once and shared, and a Spark session."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pyspark.sql import SparkSession

from tests.integration.postgres_server import PostgresServer, find_programs, has_user


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Workers must be this very Python: they import windrow.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.checkpointFileManagerClass": (
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
        ),
    }
    builder = SparkSession.builder.master("local[2]").appName("windrow-tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    programs = find_programs()
    if programs is None or not has_user():
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql, or python3 bootstrap.py test as root")
    # Not a folder of pytest's: only their owner may enter those, and the server runs as somebody else.
    with TemporaryDirectory(prefix="windrow-postgres-") as folder:
        server = PostgresServer(programs, Path(folder))
        server.start()
        try:
            server.create()
            yield server
        finally:
            server.stop()
