"""Errors of situations that no other test comes into: what is broken, in the place where the code is told."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from typer.testing import CliRunner

from windrow.cli import spark_start
from windrow.cli.letter_replay import _read_edited
from windrow.cli.main import app
from windrow.compiler import compile_sql
from windrow.connectors.files.failures import write_failure
from windrow.connectors.kafka import source as kafka_source
from windrow.connectors.memory import runtime as memory
from windrow.connectors.otap.runtime import notes_folder
from windrow.errors import UsageError, WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.identity import CARD, claim
from windrow.jobs.worker_needs import WorkerNeeds
from windrow.local import topics
from windrow.local.kafka import LocalBroker
from windrow.local.postgres import PostgresServer
from windrow.model.policies import StateBackendSetting
from windrow.storage import LocalFolder, NotForWorkers
from windrow.testing import load_cases
from windrow.testing.batches import schedule
from windrow.testing.junit import write_junit


def stand_in(**facts: Any) -> Any:
    """What a method needs of its object, and no more."""
    return SimpleNamespace(**facts)


def broken(text: str = "disk error") -> UsageError:
    return UsageError("WR602", text, "")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file, where a folder is wanted."""
    path = tmp_path / "file"
    path.write_text("")
    return path


def test_a_batch_that_cannot_be_written() -> None:
    assert write_failure(OSError(5, "Input/output error"), "out", 3).code == "WR524"


def test_a_memory_source_that_nobody_fills() -> None:
    with pytest.raises(WindrowError) as caught:
        memory.open_source(stand_in(), stand_in(name="trades", is_table=False))
    assert caught.value.code == "WR550"


def test_a_folder_that_cannot_be_written(file: Path) -> None:
    done = CliRunner().invoke(app, ["otap", "generate", str(file / "telemetry"), "--duration", "10s"])
    assert done.exit_code == 2
    assert "[WR623]" in done.output


def test_a_spark_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("Java gateway process exited")

    monkeypatch.setattr("windrow.spark.session.make_session", fail)
    with pytest.raises(WindrowError) as caught:
        spark_start.start_spark("local[1]", log=tmp_path / "log")
    assert caught.value.code == "WR624"


def test_a_record_that_a_topic_does_not_take() -> None:
    def refuse(*_: object, **__: object) -> None:
        raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))

    with pytest.raises(WindrowError) as caught:
        topics._give(stand_in(produce=refuse), "trades", b"{}", None, [], None)
    assert caught.value.code == "WR627"


def test_state_of_another_version(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    folder.replace_atomically(CARD, json.dumps({"format": 0}).encode())
    plan = compile_sql("CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SELECT a FROM t", "t.sql", {}).plan
    with pytest.raises(WindrowError) as caught:
        claim(folder, plan.jobs[0])
    assert caught.value.code == "WR803"


def test_state_on_executors_in_a_folder_that_they_do_not_reach() -> None:
    folder = stand_in(path="gs://bucket/state", for_workers=lambda: NotForWorkers("workers write to other stores"))
    session = stand_in(sparkContext=stand_in(master="local[2]"))
    with pytest.raises(WindrowError) as caught:
        WorkerNeeds(session, (), StateBackendSetting.DISTRIBUTED).state_files(folder)
    assert caught.value.code == "WR806"
    assert "gs://bucket/state is none: workers write to other stores" in caught.value.message
    assert WorkerNeeds(session, (), StateBackendSetting.AUTO).state_files(folder) is None


def test_an_offset_log_without_a_time(tmp_path: Path) -> None:
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    (tmp_path / "checkpoint" / "offsets" / "0").write_text("v1\n")
    with pytest.raises(WindrowError) as caught:
        Checkpoint(LocalFolder(tmp_path)).arrival_of(0)
    assert caught.value.code == "WR813"


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WindrowError) as caught:
            LocalBroker(tmp_path, taken.getsockname()[1]).start()
    assert caught.value.code == "WR864"


def test_a_broker_whose_folder_cannot_be_written(file: Path) -> None:
    with pytest.raises(WindrowError) as caught:
        LocalBroker(file / "broker", 0)._write_properties()
    assert caught.value.code == "WR865"


def test_a_broker_that_runs_on_another_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broker.json").write_text(json.dumps({"port": 9092, "pid": os.getpid()}))
    monkeypatch.setattr(LocalBroker, "_running_pid", lambda _: os.getpid())
    with pytest.raises(WindrowError) as caught:
        LocalBroker(tmp_path, 9093).start()
    assert caught.value.code == "WR866"


def test_a_session_without_the_kafka_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise broken("a jar could not be fetched")

    monkeypatch.setattr(kafka_source, "jar_files", fail)
    with pytest.raises(WindrowError) as caught:
        kafka_source._add_jars(stand_in())
    assert caught.value.code == "WR868"


def test_notes_of_a_receiver_beyond_local_disks() -> None:
    with pytest.raises(WindrowError) as caught:
        notes_folder("s3://bucket/state")
    assert caught.value.code == "WR883"


def test_mended_letters_that_are_none(file: Path) -> None:
    file.write_text("no JSON")
    with pytest.raises(WindrowError) as caught:
        _read_edited(file)
    assert caught.value.code == "WR891"


def test_a_postgres_server_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "initdb"
    program.write_text("#!/bin/sh\necho no space >&2; exit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(WindrowError) as caught:
        PostgresServer._run(stand_in(_programs=tmp_path, _folder=tmp_path), "initdb")
    assert caught.value.code == "WR898"


@pytest.mark.parametrize(
    ("text", "code"),
    [("no JSON", "WR902"), ('{"name": "a", "sql": "SELECT 1", "input": [], "expected": [], "batch": 1}', "WR903")],
)
def test_a_case_file_that_makes_no_sense(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text)
    with pytest.raises(WindrowError) as caught:
        load_cases(path)
    assert caught.value.code == code


def test_a_marker_row_that_makes_no_sense() -> None:
    with pytest.raises(WindrowError) as caught:
        schedule([("t", {"_advance_clock": "soon"})], "per_row")
    assert caught.value.code == "WR904"


def test_a_report_that_cannot_be_written(file: Path) -> None:
    with pytest.raises(WindrowError) as caught:
        write_junit([], file / "out.xml")
    assert caught.value.code == "WR905"
