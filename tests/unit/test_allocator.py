"""Polars is told how to keep memory before it is there, and a user's own choice stays."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from windrow.allocator import VARIABLE

CODE = f"import sys, os, windrow; print('polars' in sys.modules, os.environ['{VARIABLE}'])"


@pytest.mark.parametrize("own", [None, "dirty_decay_ms:1"])
def test_before_polars_is_loaded(own: str | None) -> None:
    env = {name: value for name, value in os.environ.items() if name != VARIABLE} | ({} if own is None else {VARIABLE: own})
    is_loaded, told = subprocess.run([sys.executable, "-c", CODE], env=env, capture_output=True, text=True, check=True).stdout.split()
    assert is_loaded == "False"
    assert told == (own or told)
    assert told.startswith("dirty_decay_ms:")
