"""Every way in which a run is stopped: what it says, how it exits, and that the next run loses and doubles nothing."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

FILES, ROWS = 8, 5
SQL = """
CREATE STREAM numbers (n INT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
CREATE STREAM copied AS SELECT n FROM numbers WITH ('connector' = 'files', 'path' = '{folder}/copied', 'format' = 'json');
CREATE STREAM counted AS SELECT _window_start AS s, COUNT(*) AS rows, SUM(n) AS total FROM numbers WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/counted', 'format' = 'json');
"""
SECONDS = 300.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        first = file * ROWS
        lines = [json.dumps({"n": n, "ts": n * 1000}) for n in range(first, first + ROWS)]
        path = tmp_path / "in" / f"{file:03}.json"
        path.write_text("\n".join(lines))
        # Files are read in the order of their times.
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    (tmp_path / "q.sql").write_text(SQL.format(folder=tmp_path))
    return tmp_path


def _command(folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "windrow", "run", str(folder / "q.sql"), "--state", str(folder / "state"), "--master", "local[1]", *more]


class Running:
    """A run in a process group of its own, without a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = subprocess.Popen(_command(folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    @property
    def java(self) -> int:
        found = [pid for pid in descendants(self.process.pid) if "java" in command_of(pid)]
        assert found, "Spark is running"
        return found[0]

    def ended(self) -> tuple[int, str]:
        shown, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, shown.decode()


def processes() -> Iterator[tuple[int, int]]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        pid, parent = line.split()
        yield int(pid), int(parent)


def descendants(pid: int) -> list[int]:
    children = [child for child, parent in processes() if parent == pid]
    return [*children, *(one for child in children for one in descendants(child))]


def command_of(pid: int) -> str:
    return subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < deadline, f"in vain: {what}"
        time.sleep(0.02)


def batches(folder: Path) -> int:
    return max((int(path.name) for path in folder.glob("state/*/checkpoint/commits/*") if path.name.isdigit()), default=-1)


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """Once two batches are done, with many more to come: one is under way, or about to be."""
    run = Running(folder)
    try:
        wait_until(lambda: batches(folder) >= 1 or run.process.poll() is not None, "two batches are done")
        yield run
    finally:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate()


def check_that_nothing_is_lost(folder: Path) -> None:
    """The next run goes on and ends; every row is there once."""
    assert batches(folder) < FILES - 1, "the run was stopped before its end"
    last = subprocess.run(_command(folder, "--until-end"), capture_output=True, text=True, timeout=SECONDS, check=False)
    assert last.returncode == 0, last.stderr
    assert f"The ledger adds up: each of {FILES * ROWS} rows" in last.stderr
    copied = [json.loads(line)["n"] for path in (folder / "copied").glob("batch-*.json") for line in path.read_text().splitlines()]
    assert sorted(copied) == list(range(FILES * ROWS))
    counted = [json.loads(line) for path in (folder / "counted").glob("batch-*.json") for line in path.read_text().splitlines()]
    assert len(counted) == FILES * ROWS // 10
    assert all(row["rows"] == 10 for row in counted)
    assert sum(row["total"] for row in counted) == sum(range(FILES * ROWS))


def check_that_it_is_calm(shown: str) -> None:
    for noise in ("Traceback", "WR999", "fault of Windrow", "Exception", "RuntimeWarning"):
        assert noise not in shown, shown


# A terminal, timeout and many a service manager signal the whole group; kill, the process alone.
@pytest.mark.parametrize(("number", "whole_group"), [(signal.SIGTERM, False), (signal.SIGINT, True)])
def test_one_signal_lets_the_batch_finish(folder: Path, number: signal.Signals, whole_group: bool) -> None:
    with running(folder) as run:
        (os.killpg if whole_group else os.kill)(run.process.pid, number)
        code, shown = run.ended()
    check_that_it_is_calm(shown)
    assert code == 0, shown
    assert "stopping: the batch under way is finished first" in shown
    assert "windows stay open, and the same command goes on from there" in shown
    check_that_nothing_is_lost(folder)


def test_the_second_signal_ends_it_at_once(folder: Path) -> None:
    with running(folder) as run:
        java = run.java
        # The batch under way cannot end, so the first wish waits for it.
        os.kill(java, signal.SIGSTOP)
        os.kill(run.process.pid, signal.SIGINT)
        deadline = time.monotonic() + SECONDS
        while run.process.poll() is None and time.monotonic() < deadline:
            os.kill(run.process.pid, signal.SIGINT)
            time.sleep(0.2)
        os.kill(java, signal.SIGCONT)
        code, shown = run.ended()
    check_that_it_is_calm(shown)
    assert code == 130, shown
    assert "stopped at once; the batch under way will run again with the same command" in shown
    wait_until(lambda: java not in {pid for pid, _ in processes()}, "Java ends with the program that started it")
    check_that_nothing_is_lost(folder)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_java_alone_is_a_failure_with_a_code(folder: Path, number: signal.Signals) -> None:
    with running(folder) as run:
        os.kill(run.java, number)
        code, shown = run.ended()
    check_that_it_is_calm(shown)
    assert code == 1, shown
    assert f"[WR854] job q stopped: Spark's Java process was ended from outside ({number.name})" in shown
    assert "hint: run the same command again" in shown
    check_that_nothing_is_lost(folder)


def test_a_service_manager_that_ends_every_process_gives_the_batch_up(folder: Path) -> None:
    """As systemd does, unless KillMode=mixed: Java and its workers are in other groups, but not out of its reach."""
    with running(folder) as run:
        for pid in [run.process.pid, *descendants(run.process.pid)]:
            os.kill(pid, signal.SIGTERM)
        code, shown = run.ended()
    check_that_it_is_calm(shown)
    assert "WR" not in shown
    # Zero if Java lived long enough for the batch to end.
    assert code in {0, 143}, shown
    assert ("given up and will run again" in shown) == (code == 143)
    check_that_nothing_is_lost(folder)


def test_java_does_not_outlive_a_program_that_was_killed(folder: Path) -> None:
    with running(folder) as run:
        java = run.java
        run.process.kill()
        run.process.communicate()
    wait_until(lambda: java not in {pid for pid, _ in processes()}, "Java ends with the program that started it")
    check_that_nothing_is_lost(folder)


def test_a_closed_terminal_lets_the_batch_finish(folder: Path) -> None:
    mine, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 150))
    # The shell that a terminal starts leads the session, the terminal is its own, and it ends with it even where the tests run under nohup.
    lead = (
        "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); signal.signal(signal.SIGHUP, signal.SIG_DFL); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", lead, *_command(folder)[1:]], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    os.set_blocking(mine, False)

    def has_begun() -> bool:
        with suppress(BlockingIOError):
            os.read(mine, 65536)
        return batches(folder) >= 1 or process.poll() is not None

    wait_until(has_begun, "two batches are done")
    os.close(mine)
    assert process.wait(SECONDS) == 0
    check_that_nothing_is_lost(folder)
