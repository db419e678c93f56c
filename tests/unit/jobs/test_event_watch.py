"""Events in the folder of a job: bounded for each kind, readable while they are written, and followed."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from windrow.cli.main import make_app
from windrow.jobs.event_watch import EVENTS, MOST_IN_A_MINUTE, EventReader, EventWatch
from windrow.jobs.identity import CARD
from windrow.observe.status import RUNNING, WAITING, JobStatus
from windrow.storage import LocalFolder


def _flicker(folder: Path, times: int) -> EventWatch:
    """A job that changes its state with every look, ten times a second."""
    now = [0.0]
    states = [WAITING, RUNNING]

    def look() -> JobStatus:
        now[0] += 0.1
        return JobStatus("shop", states[round(now[0] * 10) % 2], error="the broker is away")

    watch = EventWatch("shop", LocalFolder(str(folder)).child(EVENTS), look, lambda: now[0])
    for _ in range(times):
        watch.look()
    return watch


def test_events_are_read_back_and_followed(tmp_path: Path) -> None:
    watch = _flicker(tmp_path, 2)
    reader = EventReader(LocalFolder(str(tmp_path)))
    assert [event["message"] for event in reader.more()] == ["running", "waiting (the broker is away)"]
    assert list(reader.more()) == []
    watch.look()
    assert [event["type"] for event in reader.more()] == ["job.state"]


def test_one_kind_does_not_flood_the_file(tmp_path: Path) -> None:
    _flicker(tmp_path, 650)
    found = list(EventReader(LocalFolder(str(tmp_path))).more())
    assert len(found) == 2 * MOST_IN_A_MINUTE
    assert any(event["details"].get("more", 0) > 500 for event in found)


def test_a_line_that_is_cut_is_taken_when_it_is_whole(tmp_path: Path) -> None:
    _flicker(tmp_path, 1)
    file = next((tmp_path / EVENTS).glob("*.jsonl"))
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:20])
    reader = EventReader(LocalFolder(str(tmp_path)))
    assert len(list(reader.more())) == 1
    file.write_bytes(whole + whole)
    assert len(list(reader.more())) == 1


def test_the_log_says_of_which_batch_and_trace_an_event_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = LocalFolder(str(tmp_path)).child(EVENTS)
    status = JobStatus("shop", RUNNING, batch_id=7)
    watch = EventWatch("shop", folder, lambda: status, fields=lambda batch_id: {"batch_id": batch_id, "trace_id": "ab", "env": "prod"})
    with caplog.at_level("INFO", "windrow.events"):
        watch.look()
    (record,) = caplog.records
    assert record.windrow == {  # type: ignore[attr-defined]  # a field of ours
        "batch_id": 7,
        "trace_id": "ab",
        "env": "prod",
        "event_type": "job.state",
        "job": "shop",
        "context": {"state": "running", "before": None},
    }


def test_a_fault_of_the_watch_does_not_reach_the_job(tmp_path: Path) -> None:
    def look() -> JobStatus:
        raise ValueError("a fault")

    EventWatch("shop", LocalFolder(str(tmp_path)), look).look()


def test_the_command_shows_them_without_spark(tmp_path: Path) -> None:
    _flicker(tmp_path / "shop", 2)
    (tmp_path / "shop" / CARD).write_text("{}")
    run = CliRunner()
    shown = run.invoke(make_app("events"), ["events", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    assert "warning  shop  job.state: waiting (the broker is away)" in shown.output
    none = run.invoke(make_app("events"), ["events", str(tmp_path), "--type", "table.stale"])
    assert (none.stdout, none.stderr) == ("", "no event of these types is kept\n")
    wrong = run.invoke(make_app("events"), ["events", str(tmp_path), "--type", "job.stat"])
    assert wrong.exit_code == 2
    assert run.invoke(make_app("events"), ["events", str(tmp_path), "--job", "other"]).exit_code == 2
