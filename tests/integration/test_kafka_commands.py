"""Records into a topic and out of it, by the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from tests.integration.conftest import Broker
from tests.integration.topics import Record, options, send
from windrow.cli.main import app


def windrow(*words: str, given: str | None = None) -> tuple[int, list[str], str]:
    done = CliRunner().invoke(app, list(words), input=given)
    return done.exit_code, done.stdout.splitlines(), done.stderr


def test_what_is_produced_is_consumed(broker: Broker, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1}\n\n{"id": "x"}\n')
    there = ("-b", broker.address)
    code, _, said = windrow("produce", "commands", str(rows), *there)
    assert (code, "WR862" in said) == (2, True)
    code, _, said = windrow("produce", "commands", str(rows), *there, "--create", "--partitions", "1", "--key", "id", "--header", "a=b")
    assert (code, said) == (0, "2 records sent to commands\n")
    assert windrow("produce", "commands", "-", *there, given="{}\n")[0] == 0
    read = ("consume", "commands", *there, "--from-beginning", "--timeout", "20s")
    assert windrow(*read, "--max", "3")[:2] == (0, ['{"id": 1}', '{"id": "x"}', "{}"])
    assert windrow(*read, "--max", "1", "--key", "--headers")[1] == ['1\t{"a": "b"}\t{"id": 1}']


def test_a_file_that_reads_a_topic_is_run(broker: Broker, tmp_path: Path) -> None:
    """A session of its own, which gets the connector when the job asks for it."""
    topic = broker.topic()
    send(broker, topic, [Record({"v": n}, n % 2) for n in range(3)])
    sql = tmp_path / "sums.sql"
    sql.write_text(f"""
        CREATE STREAM s (v INT) WITH ({options(broker, topic)});
        SELECT SUM(v) AS total FROM s WINDOW TUMBLING(365d) WITH ('connector' = 'console', 'format' = 'json');
    """)
    command = [sys.executable, "-m", "windrow", "run", str(sql), "--until-end", "--quiet", "--state", str(tmp_path / "state")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    assert (done.returncode, done.stdout) == (0, '{"total":3}\n'), done.stderr


def test_lines_that_are_not_json_are_named(broker: Broker) -> None:
    topic = broker.topic()
    code, _, said = windrow("produce", topic, "-", "-b", broker.address, given="{}\nnonsense\n")
    assert code == 2
    assert "[WR626] line 2 is not JSON" in said
