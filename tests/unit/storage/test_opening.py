"""What a path without a scheme means, as the configuration of Spark and Hadoop has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from windrow.errors import UsageError
from windrow.storage import LocalFolder, is_local, jvm, open_folder, qualified
from windrow.storage.filesystem import folder_name

SITE = "<configuration><property><name>{name}</name><value>{value}</value></property></configuration>"


@pytest.fixture(autouse=True)
def _no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_cluster_a_path_is_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert qualified("state") == f"file:{tmp_path}/state"
    assert is_local("state")
    assert isinstance(open_folder("state"), LocalFolder)
    assert open_folder("file:///a/b").path == "/a/b"
    assert open_folder(Path("/a/b")).path == "/a/b"
    # A drive's letter is no scheme.
    assert is_local("c:/state")


@pytest.mark.parametrize("variable", ["HADOOP_CONF_DIR", "YARN_CONF_DIR"])
@pytest.mark.parametrize("name", ["fs.defaultFS", "fs.default.name"])
def test_a_cluster_s_default_file_system_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, name: str) -> None:
    (tmp_path / "core-site.xml").write_text(SITE.format(name=name, value="hdfs://nn:8020"))
    monkeypatch.setenv(variable, str(tmp_path))
    assert not is_local("state")
    assert not is_local("/state")
    assert is_local("file:/state")
    assert not is_local("s3a://bucket/state")


def test_spark_s_own_settings_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core-site.xml").write_text(SITE.format(name="fs.defaultFS", value="hdfs://nn:8020"))
    (tmp_path / "spark-defaults.conf").write_text("spark.app.name x\nspark.hadoop.fs.defaultFS   file:///\n")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert is_local("state")
    assert not is_local("state", settings={"spark.hadoop.fs.defaultFS": "hdfs://other:8020"})


def test_a_configuration_that_is_no_xml_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "core-site.xml").write_text("<configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    with pytest.raises(UsageError, match=r"core-site\.xml is not XML"):
        is_local("state")


def test_two_names_are_never_one_folder() -> None:
    assert folder_name("a b") != folder_name("a/b")
    assert len({folder_name("x" * 70 + end) for end in "abc"}) == 3


def test_a_default_file_system_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        def qualified(self, path: str) -> str:
            raise OSError(f"java.net.UnknownHostException: nn ({path})")

    monkeypatch.setattr("windrow.storage.opening.any_hadoop", lambda _: Away())
    with pytest.raises(UsageError, match=r"WR801.*state.*UnknownHostException"):
        open_folder("state", settings={"spark.hadoop.fs.defaultFS": "hdfs://nn:8020"})


def test_a_jvm_that_was_started_for_one_folder_serves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """An output is opened without the settings that the state of its job was opened with."""
    started: list[Any] = []

    def start(settings: dict[str, str]) -> Any:
        started.append(settings)
        return started[-1]

    monkeypatch.setattr(jvm, "_OWN", {})
    monkeypatch.setattr(jvm, "start_hadoop", start)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    first: Any = jvm.any_hadoop({"spark.jars": "a.jar"})
    assert first == {"spark.jars": "a.jar"}
    assert jvm.any_hadoop() is first
    assert jvm.any_hadoop({"spark.jars": "b.jar"}) is not first
    assert started == [{"spark.jars": "a.jar"}, {"spark.jars": "b.jar"}]
