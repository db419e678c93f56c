"""The rig of the receiver's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.otap.rig import Rig


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)
