"""What jobs need of the Python of Spark's workers, and what is said where it is not there."""

from __future__ import annotations

import logging
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jobs import worker_needs
from windrow.jobs.worker_needs import WorkerNeeds
from windrow.model.policies import StateBackendSetting
from windrow.spark.internals import workers
from windrow.spark.internals.workers import WorkerPython, lacking, worker_pythons
from windrow.storage import LocalFolder

GENERATOR = "CREATE STREAM clicks (v INT) WITH ('connector' = 'generator'); SELECT v FROM clicks"
FILES = "CREATE STREAM s (v INT) WITH ('connector' = 'files', 'path' = 'x', 'format' = 'json'); SELECT v FROM s"


def _session(program: str, master: str = "local[2]") -> Any:
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, pythonExec=program, applicationId=uuid.uuid4().hex))


def _python(folder: Path, missing: str) -> str:
    """A Python that has none of these packages."""
    program = folder / "python"
    blocked = "; ".join(f"sys.modules[{name!r}] = None" for name in missing.split())
    program.write_text(f'#!/bin/sh\nshift\ncode="$1"; shift\nexec {sys.executable} -c "import sys; {blocked or "pass"}\n$code" "$@"\n')
    program.chmod(0o755)
    return str(program)


def _executors(monkeypatch: pytest.MonkeyPatch, *found: WorkerPython) -> None:
    """A cluster of these."""
    monkeypatch.setattr(workers, "_on_cluster", lambda _spark, _known, _names: found)
    monkeypatch.setattr(worker_needs, "executor_ids", lambda _spark: frozenset(map(str, range(len(found)))))


def _check(session: Any, jobs: Any, backend: StateBackendSetting) -> None:
    WorkerNeeds(session, jobs, backend).check()


def _jobs(sql: str) -> Any:
    return compile_sql(sql).plan.jobs


def test_our_own_interpreter_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", None)
    assert worker_pythons(_session(sys.executable)) == (WorkerPython("this machine", sys.executable),)


def test_a_source_that_needs_more_than_workers_have_is_refused(tmp_path: Path) -> None:
    session = _session(_python(tmp_path, "pyarrow windrow"))
    with pytest.raises(UsageError) as refused:
        _check(session, _jobs(GENERATOR), StateBackendSetting.AUTO)
    assert refused.value.code == "WR608"
    assert "the source clicks (generator) needs pyarrow, windrow on Spark's workers" in refused.value.message
    assert "on this machine has no pyarrow, windrow" in refused.value.message
    assert "os.environ['PYSPARK_PYTHON'] = sys.executable" in (refused.value.hint or "")
    _check(session, _jobs(FILES), StateBackendSetting.AUTO)


def test_state_asked_for_on_executors_is_refused_and_otherwise_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    session = _session(_python(tmp_path, "polars"))
    with pytest.raises(UsageError, match=r"WR608.*state\.home=distributed"):
        _check(session, _jobs(FILES), StateBackendSetting.DISTRIBUTED)
    with caplog.at_level(logging.WARNING):
        assert not WorkerNeeds(session, _jobs(FILES), StateBackendSetting.AUTO).state_files(LocalFolder(tmp_path))
    assert "state stays in the driver" in caplog.text
    assert not lacking(session, ("pyarrow",))


def test_a_program_that_is_not_there_is_said_to_be() -> None:
    with pytest.raises(UsageError, match=r"WR609.*/nowhere/python does not start on this machine: there is no such program"):
        _check(_session("/nowhere/python"), _jobs(GENERATOR), StateBackendSetting.AUTO)


def test_another_version_of_python_does_not_do(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho \'["/usr/bin/python2", "2.7", []]\'\n')
    program.chmod(0o755)
    (found,) = worker_pythons(_session(str(program)))
    assert found.why_not == f"it is Python 2.7, and the driver runs {sys.version_info[0]}.{sys.version_info[1]}"


def test_workers_that_do_not_start_are_named_with_their_host(monkeypatch: pytest.MonkeyPatch) -> None:
    away = WorkerPython("10.0.0.5", "/opt/app/bin/python", why_not="there is no such program")
    _executors(monkeypatch, away)
    session = _session("/opt/app/bin/python", "spark://10.0.0.1:7077")
    with pytest.raises(UsageError, match=r"WR609.*/opt/app/bin/python does not start on 10\.0\.0\.5") as refused:
        _check(session, _jobs(GENERATOR), StateBackendSetting.AUTO)
    assert "windrow run --pack $(windrow pack); or set PYSPARK_PYTHON" in (refused.value.hint or "")


def test_one_worker_of_several_that_lacks_a_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = (WorkerPython("a", "python3", "3.11"), WorkerPython("b", "python3", "3.11", ("windrow",)))
    _executors(monkeypatch, *found)
    with pytest.raises(UsageError, match=r"python3 on b has no windrow") as refused:
        _check(_session("python3", "yarn"), _jobs(GENERATOR), StateBackendSetting.AUTO)
    assert "python3 -m pip install windrow, on every worker" in (refused.value.hint or "")


def test_a_function_of_the_users_own_needs_what_its_modules_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own modules and those below travel with it; what is installed must be there, and Windrow need not."""
    (tmp_path / "tariffs").mkdir()
    (tmp_path / "tariffs" / "__init__.py").write_text("")
    (tmp_path / "tariffs" / "table.py").write_text("import json\nimport idna\nfrom yaml import safe_load\nRATE = 2\n")
    (tmp_path / "own.py").write_text("from tariffs.table import RATE, safe_load\nimport tariffs.table\ndef twice(v):\n    return v\n")
    monkeypatch.chdir(tmp_path)
    sql = "CREATE FUNCTION twice (v INT) RETURNS INT LANGUAGE PYTHON AS 'own:twice';" + FILES.replace("SELECT v", "SELECT twice(v) AS v")
    folder = tmp_path / "other"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"WR608.*the function twice needs idna, pyarrow, yaml.*has no idna"):
        _check(_session(_python(folder, "windrow idna")), _jobs(sql), StateBackendSetting.AUTO)
    _check(_session(_python(folder, "windrow polars")), _jobs(sql), StateBackendSetting.AUTO)
