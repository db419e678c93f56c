"""Jobs that a cluster's own program starts: a driver on this machine, below a process that is not ours."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.conftest import WAITS, Server
from tests.unit.server.test_reconciler import observed, runs, until
from windrow.cli import serve
from windrow.errors import UsageError
from windrow.server.job_folders import JobFolder
from windrow.server.processes import Processes

# As spark-submit does: options of its own, then a file and its arguments, which it runs in a process below its own.
SUBMIT = """#!/bin/sh
echo "$@" > {folder}/submitted
while [ "${{1#--}}" != "$1" ]; do shift 2; done
{python} "$@" &
child=$!
echo $child > {folder}/driver
wait $child
exit $?
"""


@pytest.fixture
def submitting(server: Server, tmp_path: Path) -> Iterator[Server]:
    program = tmp_path / "spark-submit"
    program.write_text(SUBMIT.format(folder=tmp_path, python=sys.executable))
    program.chmod(0o755)
    server.programs._submit = serve._submit(f"{program} --conf spark.cores.max=2", "spark://m:7077")
    yield server
    for pid in server.programs.started:
        with contextlib.suppress(ProcessLookupError):
            # Each has a session of its own: drivers that outlive what started them are in it.
            os.killpg(pid, signal.SIGKILL)


def test_the_driver_is_the_job_and_not_what_started_it(submitting: Server, tmp_path: Path) -> None:
    submitting.deploy()
    until(submitting, runs(submitting))
    told = (tmp_path / "submitted").read_text().split()
    assert told[:6] == ["--conf", "spark.cores.max=2", "--deploy-mode", "client", "--master", "spark://m:7077"]
    assert told[6].endswith("job_main.py")
    process = submitting.reconciler.process("orders")
    assert process is not None
    assert process.host.pid == int((tmp_path / "driver").read_text()), "who is told to stop, and asked whether it lives"
    submitting.service.stop("orders", "ada")
    until(submitting, lambda: observed(submitting) == "stopped")
    assert submitting.registry.runs("orders")[0].outcome == "stopped"


def test_a_driver_that_is_killed_is_started_again(submitting: Server, tmp_path: Path) -> None:
    submitting.deploy()
    until(submitting, runs(submitting))
    os.kill(int((tmp_path / "driver").read_text()), signal.SIGKILL)
    until(submitting, lambda: len(submitting.programs.started) == 2)
    until(submitting, runs(submitting))
    assert [run.outcome for run in submitting.registry.runs("orders")] == ["", "failed"]


def test_the_next_server_finds_a_driver(submitting: Server, tmp_path: Path) -> None:
    submitting.deploy()
    until(submitting, runs(submitting))
    found = Processes().current(JobFolder(submitting.root, "orders"))
    assert found is not None
    assert found.is_alive
    assert found.host.pid == int((tmp_path / "driver").read_text())


def test_a_cluster_that_refuses_is_no_job(submitting: Server, tmp_path: Path) -> None:
    """Spark's own words are in the log; the program's exit code is the job's."""
    (tmp_path / "spark-submit").write_text("#!/bin/sh\necho 'Exception: no master'\nexit 1\n")
    submitting.deploy()
    until(submitting, lambda: observed(submitting) == "failed")
    assert "no master" in JobFolder(submitting.root, "orders").log(submitting.registry.runs("orders")[0].id).read_text()


def test_modules_beside_the_file_that_is_submitted_go_before_no_others(submitting: Server) -> None:
    """It lies among modules of ours that bear names of Python's own."""
    submitting.programs.program = f"import secrets; assert 'windrow' not in secrets.__file__, secrets.__file__\n{WAITS}"
    submitting.deploy()
    until(submitting, runs(submitting))


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="there is no program '/nowhere/spark-submit'"):
        serve._submit("/nowhere/spark-submit", None)
    assert serve._submit(None, "local") == []
