"""States that earlier versions saved, on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.saved_states.resuming import FOLDER, HERE, SavedState
from tests.unit.cli.conftest import Windrow


def test_the_command_shows_it(windrow: Windrow, tmp_path: Path) -> None:
    saved = SavedState.read(HERE / "2" / "tumbling_late")
    (tmp_path / "job.sql").write_text(saved.sql, encoding="utf-8")
    shutil.copytree(HERE / "2" / "tumbling_late" / FOLDER, tmp_path / "state")
    done = windrow("state", "show", "job.sql", "--state", "state", "--format", "json")
    assert done.exit_code == 0, done.output
    assert {one["statement"]: len(one["open"]) for one in json.loads(done.stdout)} == saved.open
