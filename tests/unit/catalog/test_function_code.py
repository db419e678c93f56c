"""A name for the code of a function: another for another body, the same for another comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.catalog.function_code import code_of

BODY = """
import math
from rates import RATE, unused
from . import nothing_of_ours

LIMIT = 3
OTHER = 4

def double(x):
    '''Says what it does.'''
    return helper(x) * RATE

def helper(x):
    return x + LIMIT

def neighbour(x):
    return x - OTHER
"""
RATES = "RATE = 2\nunused = 5\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(BODY)
    (tmp_path / "rates.py").write_text(RATES)
    return tmp_path


def changed(folder: Path, old: str, new: str, file: str = "own.py") -> bool:
    """Whether the function is called otherwise after such an edit."""
    before, path = code_of("own:double", folder), folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    after = code_of("own:double", folder)
    path.write_text(text)
    assert code_of("own:double", folder) == before != ""
    return before != after


@pytest.mark.parametrize(
    ("old", "new"),
    [("* RATE", "+ RATE"), ("x + LIMIT", "x - LIMIT"), ("LIMIT = 3", "LIMIT = 4"), ("def double(x)", "def double(x, y=1)")],
)
def test_another_body_and_what_it_leads_to(folder: Path, old: str, new: str) -> None:
    assert changed(folder, old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [("Says what", "Tells what"), ("LIMIT = 3", "LIMIT  =  3  # most"), ("x - OTHER", "x * OTHER"), ("OTHER = 4", "OTHER = 5")],
)
def test_comments_and_neighbours_mean_nothing(folder: Path, old: str, new: str) -> None:
    assert not changed(folder, old, new)


def test_modules_beside_the_file_are_looked_into(folder: Path) -> None:
    assert changed(folder, "RATE = 2", "RATE = 3", "rates.py")
    assert not changed(folder, "unused = 5", "unused = 6", "rates.py")


def test_what_a_module_does_when_it_is_loaded_counts(folder: Path) -> None:
    assert changed(folder, "OTHER = 4", "OTHER = 4\nif OTHER:\n    LIMIT = 9\n")
    assert changed(folder, "OTHER = 4", "OTHER = 4\nregister(1)\n")


def test_an_import_within_a_function_counts_whole(folder: Path) -> None:
    (folder / "own.py").write_text("def double(x):\n    import rates\n    return x * rates.RATE\n")
    assert changed(folder, "RATE = 2", "RATE = 3", "rates.py")


def test_packages_are_found_without_being_imported(folder: Path) -> None:
    assert code_of("windrow.catalog.function_code:code_of", folder)
    assert code_of("math:sqrt", folder) == ""
    assert code_of("nowhere.at_all:f", folder) == ""


def test_text_that_is_no_python_has_no_name(folder: Path) -> None:
    (folder / "own.py").write_text("def double(x) return x")
    assert code_of("own:double", folder) == ""
