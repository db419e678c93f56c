"""A job that is asked to stop through its folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.property.changed_job import SECOND, PlainJob, Row, Text
from windrow.jobs.authors import git_commit
from windrow.jobs.stop_wishes import WISH, StopWatch, stop_running
from windrow.storage import LocalFolder
from windrow.storage.lease import Lease


def test_the_holder_of_a_folder_stops_when_it_is_asked(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    lease = Lease(folder, "q")
    watch = StopWatch(folder, "q", lease.owner, lease.release, look_seconds=0.01)
    watch.begin()
    told: list[str] = []
    assert stop_running(folder, "ada", tell=told.append, seconds=30)
    assert told[0].startswith("process ")
    assert not folder.exists(WISH)
    assert not stop_running(folder, "ada"), "nobody is there any more"


def test_who_does_not_stop_keeps_the_folder_and_the_wish_is_withdrawn(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    lease = Lease(folder, "q")
    try:
        assert not stop_running(folder, "ada", seconds=0.0)
        assert not folder.exists(WISH)
    finally:
        lease.release()


def test_a_wish_for_an_earlier_run_stops_no_later_one(tmp_path: Path) -> None:
    folder, stopped, looked = LocalFolder(tmp_path), threading.Event(), threading.Semaphore(0)
    folder.replace_atomically(WISH, b'{"owner": "another", "by": "ada"}')

    class Looking(StopWatch):
        def _asked_by(self) -> str | None:
            found = super()._asked_by()
            looked.release()
            return found

    watch = Looking(folder, "q", "mine", stopped.set, look_seconds=0.01)
    watch.begin()
    for content in (b"{", b"{}"):
        assert looked.acquire(timeout=30)
        folder.replace_atomically(WISH, content)
        assert looked.acquire(timeout=30)
        assert looked.acquire(timeout=30)
    assert not stopped.is_set()
    folder.replace_atomically(WISH, b'{"owner": "mine", "by": "ada"}')
    assert stopped.wait(30)


def test_the_commit_is_that_of_the_folder_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "q.sql").write_text("")
    assert git_commit(str(tmp_path / "q.sql")) == ""
    monkeypatch.setenv("PATH", "")
    assert git_commit("q.sql") == ""


def test_a_plan_of_a_job_that_runs_says_that_it_is_stopped(tmp_path: Path) -> None:
    from windrow.cli.change_text import text_of
    from windrow.jobs.change_records import review_record

    job = PlainJob(tmp_path)
    job.run(Text(("COUNT(*)",)), [[Row("a", 1, SECOND)]])
    review = job.switch(Text(("COUNT(*)",), delay=5)).review()
    assert "stops the job at the end of a batch, if it runs" in text_of(review_record(review))
