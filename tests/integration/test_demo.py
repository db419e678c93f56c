"""The demo with systems beside it, which it starts and ends itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from windrow.errors import UsageError
from windrow.local.postgres import needed_programs


def test_candles_arrive_where_they_are_sent(tmp_path: Path) -> None:
    try:
        needed_programs()
    except UsageError as error:
        pytest.skip(str(error))
    command = [sys.executable, "-m", "windrow", "demo", "--kafka", "--postgres"]
    # A home without a broker of its own.
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = re.search(r"table windrow_demo_candles, .*: (\d+) rows", done.stdout)
    assert rows is not None, done.stdout
    candles = int(rows[1])
    assert candles >= 12
    assert "The ledger adds up" in done.stdout
    records = re.search(r"read_committed: (\d+) records", done.stdout)
    assert records is not None, done.stdout
    # One for each candle, and one for each correction.
    assert int(records[1]) >= candles
    assert re.search(r"\n  ACME  \{\"symbol\":\"ACME\"", done.stdout)
