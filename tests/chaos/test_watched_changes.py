"""``kill -9`` of ``windrow apply`` while it watches the new version, over real files: whoever goes on finds one version, whole."""

from __future__ import annotations

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.chaos

TEXT = """
CREATE STREAM t (k STRING, v INT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');
CREATE STREAM o AS SELECT k, _window_start AS s, COUNT(*) AS n, SUM(v) AS total FROM t{where} GROUP BY k WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""
OLD, NEW = "", " WHERE v > 3"
Values = tuple[int, int]


class Desk:
    """A folder with a query, its rows and its output, and the commands over it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.files = folder, 0
        (folder / "in").mkdir()
        self.write(OLD)

    def write(self, where: str) -> None:
        (self.folder / "q.sql").write_text(TEXT.format(folder=self.folder, where=where))

    def put(self, files: int) -> None:
        for _ in range(files):
            rows = [self.row(number) for number in range(self.files * 10, self.files * 10 + 10)]
            place = self.folder / "in" / f"{self.files}.json"
            place.write_text("".join(json.dumps({"k": k, "v": v, "ts": at}) + "\n" for k, v, at in rows))
            os.utime(place, (1_700_000_000 + self.files, 1_700_000_000 + self.files))
            self.files += 1

    @staticmethod
    def row(number: int) -> tuple[str, int, int]:
        return "ab"[number % 3 % 2], number % 7, number * 2000

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "windrow", words[0], "q.sql", "--state", "state", *words[1:]]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "start_new_session": True}
        return subprocess.Popen(command, cwd=self.folder, **pipes)

    def __call__(self, *words: str) -> str:
        process = self.start(*words)
        told, _ = process.communicate(timeout=300)
        assert process.returncode == 0, told
        return told

    def card(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "state" / "q" / "job.json").read_text())
        return found

    def commits(self) -> int:
        return max(int(path.name) for path in (self.folder / "state/q/checkpoint/commits").iterdir() if path.name.isdigit())

    def written(self) -> dict[tuple[str, int], Values]:
        found = {}
        for manifest in sorted((self.folder / "out/_manifest").glob("*.json")):
            for file in json.loads(manifest.read_text())["files"]:
                for row in map(json.loads, (self.folder / "out" / file["name"]).read_text().splitlines()):
                    start = int(datetime.datetime.fromisoformat(row["s"].replace("Z", "+00:00")).timestamp())
                    assert (row["k"], start) not in found, "each window is written once"
                    found[row["k"], start] = (row["n"], row["total"])
        return found

    def expected(self, least: int) -> dict[tuple[str, int], Values]:
        windows: dict[tuple[str, int], Values] = {}
        for k, v, at in map(self.row, range(self.files * 10)):
            if v > least:
                n, total = windows.get((k, at // 10_000 * 10), (0, 0))
                windows[k, at // 10_000 * 10] = n + 1, total + v
        return windows


def until(is_so: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 240
    while not is_so():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize(("more", "then"), [(0, "apply"), (1, "rollback")])
def test_a_kill_while_a_version_is_watched(tmp_path: Path, more: int, then: str) -> None:
    desk = Desk(tmp_path)
    desk.put(3)
    desk("run", "--once", "--quiet")
    before = desk.commits()
    desk.write(NEW)
    desk.put(4)
    process = desk.start("apply", "--yes")
    until(lambda: desk.card().get("version", 1) == 2 and desk.commits() >= before + more, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    card = desk.card()
    assert not card["is_final"], "it was killed while it was watched"
    least, cut = 3, card["cut"]["at"] // 1_000_000
    if then == "apply":
        told = desk("apply", "--yes")
        assert "it was not seen to work yet" in told
        assert desk.card()["is_final"]
    else:
        desk("rollback", "--yes")
        desk.write(OLD)
        least = -1
    desk.put(1)
    desk("run", "--until-end", "--quiet")
    of_old, of_new = desk.expected(-1), desk.expected(least)
    wanted = {w: v for w, v in of_old.items() if w[1] < cut} | {w: v for w, v in of_new.items() if w[1] >= cut}
    assert desk.written() == wanted
