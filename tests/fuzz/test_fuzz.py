"""Whatever the text, ``compile`` and ``fmt`` answer: a plan, or a diagnostic with a code and a place.

A few thousand texts run with every other test; `make fuzz` judges 100,000. WINDROW_FUZZ_SEED starts from another seed; a failure
names the seed and the number of the input, and shows the text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.grammar import written
from tests.fuzz.judging import judge, judge_many
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import seeds

SEED = int(os.environ.get("WINDROW_FUZZ_SEED", "1"))


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CREATE FUNCTION looks for modules in the working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text", seeds(), ids=lambda text: f"{len(text)} characters")
def test_good_text(text: str) -> None:
    judge(text)


def test_mutated_text() -> None:
    judge_many(mutated, SEED, 2000)


def test_text_written_from_the_grammar() -> None:
    verdicts = judge_many(written, SEED, 200)
    # Else it would only test how text is refused.
    assert verdicts["compiled"] > 100, verdicts


@pytest.mark.slow
@pytest.mark.parametrize(("make", "count"), [(mutated, 80_000), (written, 20_000)])
def test_many(make: Callable[[Random], str], count: int) -> None:
    print(f"\nseed {SEED}: {count} texts {make.__name__}:", dict(judge_many(make, SEED, count)))
