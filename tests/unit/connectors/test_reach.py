"""Folders of the driver's disk on a cluster whose machines have others, without a cluster."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windrow.connectors.files.failures import refuse_missing
from windrow.connectors.reach import refuse_unshared
from windrow.errors import JobError, UsageError
from windrow.spark.internals import shared_folders


class Cluster:
    """Executors that read what ``read`` gives of a file of the driver's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
        self.executors = {"0": "10.0.0.4", "1": "10.0.0.5"}
        self.asked: list[list[str]] = []
        self.session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://a:7077", applicationId=str(id(self))))

        def texts(_spark: Any, uri: str, hosts: dict[str, str]) -> list[str]:
            self.asked.append(list(hosts.values()))
            return [read(host, Path(uri.removeprefix("file://"))) for host in hosts.values()]

        monkeypatch.setattr(shared_folders, "executor_ids", lambda _spark: frozenset(self.executors))
        monkeypatch.setattr(shared_folders, "await_executor", lambda _spark, _seconds: True)
        monkeypatch.setattr(shared_folders, "hosts_of", lambda _spark, ids: {one: self.executors[one] for one in sorted(ids)})
        monkeypatch.setattr(shared_folders, "job_group", lambda _spark, _what: _Nothing())
        monkeypatch.setattr(shared_folders, "texts_read_by_each", texts)


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def test_a_folder_that_all_share_is_asked_for_once_and_again_for_an_executor_that_comes_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster(monkeypatch, lambda _host, file: file.read_text().strip())
    for _ in range(2):
        refuse_unshared(cluster.session, "the source s", f"file:{tmp_path}")
    cluster.executors["2"] = "10.0.0.6"
    refuse_unshared(cluster.session, "the source s", f"file:{tmp_path}")
    assert cluster.asked == [["10.0.0.4", "10.0.0.5"], ["10.0.0.6"]]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_the_drivers_own_is_refused_with_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PySparkRuntimeError

    def read(host: str, file: Path) -> str:
        if host == "10.0.0.4":
            return file.read_text().strip()
        raise PySparkRuntimeError(
            f"Lost task 1.3 in stage 0.0 (TID 5) ({host} executor 1): java.io.FileNotFoundException: File {file} does not"
        )

    cluster = Cluster(monkeypatch, read)
    with pytest.raises(UsageError, match=rf"WR514.*the output o: {tmp_path} is not the same folder on 10\.0\.0\.5") as refused:
        refuse_unshared(cluster.session, "the output o", f"file:{tmp_path}")
    assert "is not there" in refused.value.message
    assert list(tmp_path.iterdir()) == []


def test_another_folder_with_a_file_of_that_name_is_not_the_drivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, lambda _host, _file: "another word")
    with pytest.raises(UsageError, match="WR514"):
        refuse_unshared(cluster.session, "the output o", f"file:{tmp_path}")


def test_other_file_systems_and_local_masters_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(monkeypatch, lambda _host, _file: "another word")
    refuse_unshared(cluster.session, "the output o", "s3a://bucket/out")
    cluster.session.sparkContext.master = "local[2]"
    refuse_unshared(cluster.session, "the output o", f"file:{tmp_path}")
    assert cluster.asked == []


def test_rows_without_their_files_are_not_taken_for_written() -> None:
    refuse_missing("out", 0, (), [])
    refuse_missing("out", 7, (), ["frame/part-00000-x.json"])
    with pytest.raises(JobError, match=r"WR526.*3,000 rows to out, and 1 of 3 parts of them are missing"):
        refuse_missing("out", 3_000, [0, 1, 4], ["frame/part-00000-x.json", "frame/part-00004-x.json"])
    with pytest.raises(JobError, match=r"WR526.*no part of them is there"):
        refuse_missing("out", 5, (), [])
