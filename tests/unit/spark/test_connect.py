"""Spark Connect has no driver in this process, so it is refused before anything is started."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import windrow
from windrow.errors import UsageError
from windrow.spark.session import make_session, refuse_connect

SQL = "CREATE STREAM s (a INT) WITH ('connector' = 'generator'); SELECT a FROM s;"


def _client() -> object:
    """As PySpark's client of Spark Connect is: known by its module. Its own needs a server and packages that we do not have."""
    return type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()


def test_a_session_of_spark_connect_is_refused() -> None:
    with pytest.raises(UsageError, match="a client of Spark Connect") as refused:
        refuse_connect(_client())
    assert refused.value.code == "WR605"
    assert "--master" in str(refused.value.hint)
    with pytest.raises(UsageError, match="WR605"):
        windrow.run(SQL, spark=_client(), mode="once")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("master", "settings", "said"),
    [("sc://host:15002", {}, "sc://host:15002"), ("local[1]", {"spark.remote": "sc://host"}, "spark.remote = sc://host")],
)
def test_a_server_of_spark_connect_is_refused(master: str, settings: Mapping[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        make_session(master, settings)
    assert refused.value.code == "WR605"


def test_a_server_that_the_environment_names_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(UsageError, match="SPARK_REMOTE = sc://host"):
        make_session("local[1]")
