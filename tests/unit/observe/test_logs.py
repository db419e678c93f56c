"""Logs for people and machines: fields, no secrets, no floods, files that are rotated."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from windrow.errors import JobError, UsageError
from windrow.observe import logs
from windrow.observe.log_context import log_context
from windrow.observe.logs import MASK, Limit, masked, set_up

LOG = logging.getLogger("windrow.test")


def _json(*calls: Any) -> list[dict[str, Any]]:
    stream = io.StringIO()
    undo = set_up(True, None, stream)
    try:
        for call in calls:
            call()
    finally:
        undo()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _fail() -> None:
    try:
        raise JobError("WR807", "the state has grown", "hold less")
    except JobError:
        LOG.exception("the job stopped")


def test_a_line_for_machines_has_its_fields() -> None:
    with log_context(job="shop", batch_id=7, trace_id="ab"):
        (found,) = _json(lambda: LOG.warning("%s [%s]; batch %d", "no broker", "WR860", 7))
    assert found["message"] == "no broker [WR860]; batch 7"
    assert (found["level"], found["logger"], found["code"], found["job"], found["batch_id"]) == (
        "warning",
        "windrow.test",
        "WR860",
        "shop",
        7,
    )
    assert found["timestamp"].endswith("Z")


def test_an_event_and_an_error_bring_their_own() -> None:
    extra = {"windrow": {"event_type": "system.down", "job": "shop", "context": {"system": "db"}}}
    event, error = _json(lambda: LOG.info("db is away", extra=extra), _fail)
    assert (event["event"], event["context"]) == ("system.down", {"system": "db"})
    assert error["error"] == {"type": "JobError", "code": "WR807", "hint": "hold less"}
    assert "Traceback" in error["exception"]


def test_secrets_are_never_written() -> None:
    extra = {"windrow": {"context": {"password": "hunter2", "url": "postgres://joe:hunter2@db", "rows": 3}}}
    (found,) = _json(lambda: LOG.info("with sasl.password=hunter2 and token: 'hunter2'", extra=extra))
    assert "hunter2" not in json.dumps(found)
    assert found["context"]["rows"] == 3


@pytest.mark.parametrize(
    "text",
    ["password=hunter2", "PASSWORD = 'hunter2'", 'api_key: "hunter2"', "https://me:hunter2@host/x", "Authorization: Bearer hunter2"],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    assert "hunter2" not in masked(text)
    assert MASK in masked(text)


def test_one_kind_is_told_once_a_second_and_the_rest_is_counted() -> None:
    now = [0.0]
    limit = Limit(lambda: now[0])

    def passes(text: str) -> logging.LogRecord | None:
        record = logging.LogRecord("windrow", logging.WARNING, "", 0, text, (), None)
        return record if limit.filter(record) else None

    assert [passes("[WR701] row %d") is not None for _ in range(3)] == [True, False, False]
    assert passes("[WR702] another") is not None
    now[0] = 1.5
    again = passes("[WR701] with other words")
    assert again is not None
    assert again.__dict__["more"] == 2


def test_people_read_text_and_files_are_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "FILE_BYTES", 300)
    monkeypatch.setattr(Limit, "filter", lambda _self, _record: True)
    undo = set_up(False, tmp_path / "logs" / "job.log")
    for number in range(20):
        LOG.info("line %d", number)
    undo()
    LOG.info("after")
    assert "line 19" in (tmp_path / "logs" / "job.log").read_text()
    assert (tmp_path / "logs" / "job.log.1").exists()
    assert not any("after" in path.read_text() for path in (tmp_path / "logs").iterdir())


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError) as refused:
        set_up(True, tmp_path / "file" / "job.log")
    assert refused.value.code == "WR635"
