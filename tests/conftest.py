"""For every test: the order in which they run, where somebody wants it by chance."""

from __future__ import annotations

import os
import random
from itertools import groupby

import pytest

SEED = "WINDROW_TEST_SEED"


def pytest_report_header() -> str | None:
    seed = os.environ.get(SEED)
    return None if seed is None else f"random order: {SEED}={seed}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files by chance, and the tests of a file by chance: what a test leaves behind must not be what the next one leans on."""
    seed = os.environ.get(SEED)
    if seed is None:
        return
    chance = random.Random(seed)
    files = [list(own) for _, own in groupby(items, key=lambda item: item.path)]
    chance.shuffle(files)
    for own in files:
        chance.shuffle(own)
    items[:] = [item for own in files for item in own]
