"""What a session for a cluster is told, so that executors have what they need."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jars import Jar
from windrow.jobs import jar_needs
from windrow.jobs.jar_needs import with_needed_jars
from windrow.settings import spark_defaults, starting_with
from windrow.spark import shipping
from windrow.spark.shipping import shipped

CLUSTER = "spark://10.0.0.1:7077"


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setattr(shipping, "read_pack", lambda _path: None)


def test_workers_of_a_cluster_do_not_get_the_drivers_own_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shipped("local[2]", {}).python == sys.executable
    assert shipped(CLUSTER, {}).python == "python3"
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/app/bin/python")
    assert shipped(CLUSTER, {}).python == "/opt/app/bin/python"


def test_a_packed_environment_is_an_archive_beside_those_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").write_text("certificate")
    sent = shipped(CLUSTER, {"workers.pack": "env.tar.gz", "spark.archives": "more.zip#more", "spark.files": "ca.pem,hdfs://a/b"})
    assert sent.settings["spark.archives"] == f"{tmp_path}/more.zip#more,{tmp_path}/env.tar.gz#windrow-env"
    assert sent.settings["spark.files"] == f"{tmp_path}/ca.pem,hdfs://a/b"
    assert sent.python == "./windrow-env/bin/python"
    # Spark asks the same path in the driver, where it must be this interpreter; and files are where an executor finds them.
    assert sent.stands_in is not None
    done = subprocess.run(
        [sent.python, "-c", "import sys; print(sys.executable)"], cwd=sent.stands_in, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == sys.executable
    assert (sent.stands_in / "ca.pem").read_text() == "certificate"


def test_an_image_is_for_kubernetes() -> None:
    sent = shipped("k8s://https://10.0.0.1", {"workers.image": "windrow:1"})
    assert (sent.settings, sent.python) == ({"spark.kubernetes.container.image": "windrow:1"}, "python3")
    for master, settings, told in (
        (CLUSTER, {"workers.image": "windrow:1"}, "is for Kubernetes, and the master is spark://"),
        ("k8s://a", {"workers.image": "windrow:1", "workers.pack": "env.tar.gz"}, "exclude each other"),
        ("local[2]", {"workers.pack": "env.tar.gz"}, "is for the workers of a cluster"),
    ):
        with pytest.raises(UsageError, match=f"WR646.*{told}"):
            shipped(master, settings)


def test_what_spark_starts_with_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    with starting_with("python3"):
        assert os.environ["PYSPARK_PYTHON"] == "python3"
        assert os.environ["PATH"] == f"{os.path.dirname(sys.executable)}{os.pathsep}/usr/bin"
    assert "PYSPARK_PYTHON" not in os.environ
    assert os.environ["PATH"] == "/usr/bin"


def test_jars_are_those_of_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jar_needs, "jar_files", lambda group: [Path(f"/cache/{Jar('org', group, '1', '').file_name}")])
    plain = compile_sql("CREATE STREAM s (v INT) WITH ('connector' = 'generator'); SELECT v FROM s").plan.jobs
    topic = compile_sql(
        "CREATE STREAM s (v INT) WITH ('connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'b:9092'); SELECT v FROM s"
    ).plan.jobs
    assert with_needed_jars({}, CLUSTER, plain, ["state"]) == {}
    assert with_needed_jars({}, CLUSTER, topic, ["state"]) == {"spark.jars": "/cache/kafka-connector-1.jar"}
    # A session on one machine takes them while it runs.
    assert with_needed_jars({}, "local[2]", topic, ["state"]) == {}
    assert with_needed_jars({"spark.jars": "/my.jar"}, "local[2]", plain, ["s3a://b/state"]) == {"spark.jars": "/my.jar,/cache/s3a-1.jar"}
    own = {"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.5.0"}
    assert with_needed_jars(own, CLUSTER, plain, ["s3a://b/state"]) == own


def test_jars_that_the_installed_spark_has_are_not_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "hadoop-aws-3.4.1.jar").write_bytes(b"")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    plain = compile_sql("CREATE STREAM s (v INT) WITH ('connector' = 'generator'); SELECT v FROM s").plan.jobs
    assert with_needed_jars({}, CLUSTER, plain, ["s3a://b/state"]) == {}


def test_what_the_cluster_configures_is_no_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark-defaults.conf").write_text("# ours\nspark.network.timeout   300s\n\nspark.executor.memory=4g\n")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert spark_defaults() == {"spark.network.timeout", "spark.executor.memory"}
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path / "nothing"))
    assert spark_defaults() == frozenset()
