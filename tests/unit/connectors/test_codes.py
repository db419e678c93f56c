"""Every code that these connectors raise is declared, and every declared one is raised."""

from __future__ import annotations

import re
from pathlib import Path

from windrow.connectors.codes import CODES

HERE = Path(__file__).resolve().parents[3] / "src/windrow/connectors"


def test_codes_are_declared_once_and_used() -> None:
    used = {
        code
        for folder in ("files", "generator", "console")
        for path in (HERE / folder).rglob("*.py")
        for code in re.findall(r'"(WR\d+)"', path.read_text())
    }
    assert used == set(CODES)
    assert all("WR500" <= code <= "WR549" for code in CODES)
