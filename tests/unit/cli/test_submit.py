"""What is handed to spark-submit, and what is refused before."""

from __future__ import annotations

import re
import shlex
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Cli = Callable[..., Result]
SQL = "CREATE STREAM s (v INT) WITH ('connector' = 'generator'); SELECT twice(v) AS v FROM s"
FUNCTION = "CREATE FUNCTION twice (v INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice';"
YARN = ["--master", "yarn", "--state", "hdfs://n/state", "--pack", "env.tar.gz"]


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("windrow.packing.read_pack", lambda _path: None)
    (tmp_path / "own.py").write_text("def twice(v):\n    return v\n")
    (tmp_path / "job.sql").write_text(f"{FUNCTION} {SQL}")
    (tmp_path / "windrow.yaml").write_text(
        "environments:\n  prod:\n    state: {retain.batches: 7}\n    settings: {workers.pack: of-the-project.tar.gz}\n"
    )


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spark-submit that keeps what it is given."""
    program = tmp_path / "spark" / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    kept = tmp_path / "kept"
    kept.mkdir()
    copy = f'for word in "$@"; do printf "%s\\n" "$word"; case "$word" in *windrow-job.zip*) cp "${{word%%#*}}" {kept}/job.zip;; esac; done'
    program.write_text(f"#!/bin/sh\n({copy}) > {kept}/words\n")
    program.chmod(0o755)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "spark"))
    return kept


def test_a_file_goes_with_its_project_its_functions_and_its_python(windrow: Cli, submitted: Path) -> None:
    done = windrow("submit", "job.sql", *YARN, "--env", "prod", "--until-end", "--set", "spark.executor.instances=3")
    assert done.exit_code == 0, done.output
    words = (submitted / "words").read_text().splitlines()
    assert words[:4] == ["--master", "yarn", "--deploy-mode", "cluster"]
    archives = words[words.index("--archives") + 1].split(",")
    assert archives[0].endswith("windrow-job.zip#windrow-job")
    assert archives[1].endswith("env.tar.gz#windrow-env")
    for setting in ("spark.executor.instances=3", "spark.pyspark.python=./windrow-env/bin/python"):
        assert setting in words
    assert "spark.yarn.appMasterEnv.PYSPARK_PYTHON=./windrow-env/bin/python" in words
    run = words[next(number for number, word in enumerate(words) if word.endswith("windrow_main.py")) + 1 :]
    assert run[:2] == ["run", "windrow-job/job.sql"]
    assert run[run.index("--state") + 1] == "hdfs://n/state"
    assert {"--until-end", "state.retain.batches=7", "spark.executor.instances=3"} <= set(run)
    with zipfile.ZipFile(submitted / "job.zip") as archive:
        assert {"job.sql", "own.py", "windrow.yaml"} <= set(archive.namelist())


def test_what_would_be_run_can_be_shown(windrow: Cli) -> None:
    shown = windrow("submit", "job.sql", *YARN, "--show")
    assert shown.exit_code == 0, shown.output
    words = shlex.split(shown.output)
    assert words[0].endswith("bin/spark-submit")
    assert words[words.index("--deploy-mode") + 1] == "cluster"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--master", "spark://10.0.0.1:7077"], "Spark's standalone master takes no Python program in cluster mode"),
        (["--master", "local[2]"], r"there is no cluster at local\[2\] that takes a driver"),
        (["--master", "yarn"], "the state in .* would be lost with the machine"),
        (["--master", "yarn", "--state", "s3a://b/s"], "needs a Python with Windrow, and none is named"),
        (["--master", "yarn", "--state", "hdfs://n/s", "--image", "i"], "--image is for Kubernetes, and the master is yarn"),
        (["--master", "k8s://a", "--state", "hdfs://n/s", "--image", "i"], "Kubernetes takes files of this machine by way of a store"),
    ],
)
def test_what_cannot_work_is_refused_with_what_can(windrow: Cli, words: list[str], told: str) -> None:
    done = windrow("submit", "job.sql", *words, "--set", "spark.jars=hadoop-aws.jar")
    assert done.exit_code == 2, done.output
    assert "[WR647]" in done.output
    assert re.search(told, done.output), done.output


def test_a_wrong_file_is_said_here(windrow: Cli, tmp_path: Path) -> None:
    (tmp_path / "job.sql").write_text("SELECT v FROM nothing")
    done = windrow("submit", "job.sql", *YARN)
    assert done.exit_code == 2
    assert "nothing" in done.output
