"""Files of telemetry that cannot be read are told, counted, and a failure where that is asked for."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from windrow.cli.main import app
from windrow.cli.report import Finish, print_report
from windrow.cli.unread import refuse_unread
from windrow.observe.ledger import Account, Ledger
from windrow.observe.status import JobStatus, UnreadFile

RUN = CliRunner()


@pytest.fixture(scope="module")
def telemetry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of logs is cut off, and one of attributes."""
    folder = tmp_path_factory.mktemp("otap") / "telemetry"
    made = RUN.invoke(app, ["otap", "generate", str(folder), "--signals", "logs", "--duration", "90s", "--drift", "1s"])
    assert made.exit_code == 0, made.output
    for table in ("logs", "log_attrs"):
        file = sorted((folder / table).rglob("*.parquet"))[0]
        file.write_bytes(file.read_bytes()[:-100])
    return folder


def test_export_says_what_it_left_out_and_fails_if_asked_to(telemetry: Path, tmp_path: Path) -> None:
    arguments = ["otap", "export", str(telemetry), str(tmp_path)]
    done = RUN.invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "not read: 2 files; their rows are in no message" in done.output
    lines = [line for line in done.output.splitlines() if line.startswith("left out: ")]
    assert [line.split("/")[0] for line in lines] == ["left out: log_attrs", "left out: logs"]
    strict = RUN.invoke(app, [*arguments, "--strict"])
    assert strict.exit_code == 1
    assert "[WR607] 2 files could not be read, and --strict asks for all: log_attrs/" in strict.output


def test_strict_is_content_where_all_is_read() -> None:
    refuse_unread([])


def test_the_report_counts_files_that_were_not_read() -> None:
    ledger = Ledger({"logs": Account(10_800, 10_800)}).with_unread_files({"logs": 1, "spans": 1})
    assert ledger.is_balanced
    files = (UnreadFile("logs", "logs/a.parquet", "cut off"), UnreadFile("spans", "spans/b.parquet", "cut off"))
    status = JobStatus("errors", "ended", 3, 10_800, ledger=ledger, unread_files=files)
    out = StringIO()
    print_report(Finish((status,), {"errors": "/state"}, "until_end", "", ""), Console(file=out, width=120))
    shown = out.getvalue()
    assert "2 files could not be read, and their rows are in no number above:" in shown
    assert "logs: logs/a.parquet: cut off" in shown
    assert "each of 10,800 rows that could be read was" in shown
    assert "files not read" in shown
    assert Account.from_json(ledger.sources["spans"].to_json()) == ledger.sources["spans"]
