"""A broker that wants TLS and a password: everything that talks to it gets in with them, and says why it does not without."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tests.integration.conftest import Broker
from tests.integration.topics import Runner, options
from windrow.cli.main import app
from windrow.compiler import compile_sql
from windrow.errors import WindrowError
from windrow.local.kafka import Entrance

USER, PASSWORD = "app", "open-sesame"
LINES = '{"k": "a", "v": 1}\n{"k": "b", "v": 2}\n'


def openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def authority(folder: Path, name: str) -> Path:
    subject = ("-subj", f"/CN={name}", "-days", "2", "-nodes")
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-keyout", f"{name}.key", "-out", f"{name}.pem", *subject)
    return folder / f"{name}.pem"


def certificate(folder: Path, by: str) -> Path:
    """One PEM file with the key and the certificate of 127.0.0.1."""
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "broker.key", "-out", "broker.csr", "-subj", "/CN=broker")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    signed = ("-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    openssl(folder, "x509", "-req", "-in", "broker.csr", "-out", "broker.crt", *signed)
    both = folder / "broker.pem"
    both.write_text((folder / "broker.key").read_text() + (folder / "broker.crt").read_text())
    return both


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates")
    authority(folder, "trusted")
    authority(folder, "stranger")
    certificate(folder, "trusted")
    return folder


@pytest.fixture(scope="module")
def secured(certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    settings = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates / "broker.pem"),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.client.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    }
    made = Broker(tmp_path_factory.mktemp("secured"), Entrance("SASL_SSL", settings, {USER: PASSWORD}, client(certificates)))
    made.start()
    yield made
    made.kill()


def client(certificates: Path, password: str = PASSWORD, trusts: str = "trusted") -> dict[str, str]:
    """By librdkafka's names."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificates / f"{trusts}.pem"),
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": USER,
        "sasl.password": password,
    }


def java(certificates: Path, password: str = PASSWORD, trusts: str = "trusted") -> dict[str, str]:
    """By those of Java."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(certificates / f"{trusts}.pem"),
        "ssl.truststore.type": "PEM",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{module} required username="{USER}" password="{password}";',
    }


def words(broker: Broker, settings: dict[str, str]) -> list[str]:
    return ["--bootstrap-servers", broker.address, *(word for pair in settings.items() for word in ("-X", "=".join(pair)))]


def given(settings: dict[str, str]) -> dict[str, str]:
    return {f"kafka.{key}": value for key, value in settings.items()}


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Runner:
    return Runner(spark, tmp_path)


def test_rows_in_and_out_and_the_commands(
    secured: Broker, certificates: Path, run: Runner, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, exact, plain = secured.topic(), secured.topic(), secured.topic()
    file = tmp_path / "lines.jsonl"
    file.write_text(LINES)
    done = CliRunner().invoke(app, ["produce", source, str(file), *words(secured, java(certificates))])
    assert done.exit_code == 0, done.output
    sql = f"""
    CREATE STREAM s (k STRING, v INT) WITH ({options(secured, source, **given(java(certificates)))});
    CREATE STREAM once AS SELECT k, v FROM s WITH ({options(secured, exact, **given(client(certificates)))});
    CREATE STREAM often AS SELECT k, v FROM s
      WITH ({options(secured, plain, delivery="at_least_once", **given(client(certificates)))});
    EXPLAIN SELECT * FROM s;
    """
    with caplog.at_level(logging.INFO):
        jobs = run.start(sql, "once")
        try:
            assert jobs.await_end(90)
        finally:
            jobs.stop()
    for topic in (exact, plain):
        seen = CliRunner().invoke(app, ["consume", topic, "--from-beginning", "--max", "2", *words(secured, client(certificates))])
        assert sorted(seen.output.splitlines()) == ['{"k":"a","v":1}', '{"k":"b","v":2}'], seen.output
    shown = [caplog.text, repr(jobs.status()), *map(str, compile_sql(sql, "x.sql", {}).answers)]
    assert not any(PASSWORD in text for text in shown)
    cards = [path for path in (tmp_path / "state").rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert cards == []


@pytest.mark.parametrize(
    ("wrong", "part"),
    [({"password": "wrong-guess"}, "uthentication failed"), ({"trusts": "stranger"}, "certificate")],
    ids=["password", "certificate"],
)
def test_who_is_not_let_in_is_told_why(secured: Broker, certificates: Path, run: Runner, wrong: dict[str, str], part: str) -> None:
    topic = secured.topic()
    right, refused = given(client(certificates)), given(java(certificates, **wrong))
    reads = f"""
    CREATE STREAM s (k STRING) WITH ({options(secured, topic, topic__wait__timeout="5s", **refused)});
    CREATE STREAM out AS SELECT k FROM s WITH ('connector' = 'memory');
    """
    writes = f"""
    CREATE STREAM s (k STRING) WITH ({options(secured, topic, **right)});
    CREATE STREAM out AS SELECT k FROM s WITH ({options(secured, topic, request__timeout="5s", **refused)});
    """
    for number, sql in enumerate((reads, writes)):
        with pytest.raises(WindrowError) as caught:
            run.start(sql, "once", f"state-{number}").await_end(90)
        assert caught.value.code == "WR861", caught.value
        assert part in str(caught.value)
        assert "hint" in str(caught.value)
        assert not any(secret in str(caught.value) for secret in (PASSWORD, "wrong-guess"))
    told = CliRunner().invoke(app, ["consume", topic, "--max", "1", *words(secured, client(certificates, **wrong))])
    assert told.exit_code != 0
    assert "WR861" in told.output
    assert "wrong-guess" not in told.output
