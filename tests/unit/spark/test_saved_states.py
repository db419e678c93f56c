"""Every state that a version of Windrow ever saved is loaded by the present one, without Spark (tests/saved_states)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.saved_states.resuming import FOLDER, SavedState, every_saved_state, spilled_rows
from windrow.jobs.history import JobHistory
from windrow.jobs.identity import CARD, claim
from windrow.jobs.letters import EVERY, WAITING, read_letters
from windrow.spark.state.state_file import FORMAT
from windrow.storage import LocalFolder, folder_name

FOLDERS = every_saved_state()
# Roots of absolute paths, on any system.
_ABSOLUTE = "|".join([*(f"/{root}/" for root in ("tmp", "home", "root", "work", "var", "Users")), r"[A-Z]:\\\\"]).encode()
IDS = [f"{path.parent.name}-{path.name}" for path in FOLDERS]


def test_there_are_states_of_every_format() -> None:
    assert {path.parent.name for path in FOLDERS} == {str(number) for number in range(2, FORMAT + 1)}


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_it_is_loaded_with_what_was_open(folder: Path) -> None:
    saved = SavedState.read(folder)
    _, held = JobHistory(saved.job, folder / FOLDER).open_state(None)
    assert {one.statement: 0 if one.windows is None else one.windows.height for one in held} == saved.open


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_its_job_is_known_again(folder: Path, tmp_path: Path) -> None:
    saved = SavedState.read(folder)
    own = folder / FOLDER / folder_name(saved.job.name)
    shutil.copy(own / CARD, tmp_path / CARD)
    assert claim(LocalFolder(tmp_path), saved.job) == saved.name


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_its_dead_letters_are_read(folder: Path) -> None:
    saved = SavedState.read(folder)
    letters = [letter for own in read_letters(folder / FOLDER) for letter in own.meant_by(EVERY)]
    found = [{"id": one["id"], "code": one["code"], "late_by": one["late_by"], "row": json.loads(one["row"])} for one in letters]
    assert found == list(saved.letters)
    assert [letter["replay"] for letter in letters].count(WAITING) == saved.waiting


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_rows_that_wait_for_an_output_are_read(folder: Path, tmp_path: Path) -> None:
    saved = SavedState.read(folder)
    own = shutil.copytree(folder / FOLDER / folder_name(saved.job.name), tmp_path / "job")
    assert spilled_rows(own) == saved.spilled


@pytest.mark.parametrize("folder", FOLDERS, ids=IDS)
def test_no_path_of_a_machine_is_in_it(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            assert not re.search(_ABSOLUTE, file.read_bytes()), file


def test_they_are_small() -> None:
    assert all(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 200_000 for folder in FOLDERS)
