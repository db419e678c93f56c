"""What the page has from other projects is what their packages have, by the lock."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vendor_web", ROOT / "tools/vendor_web.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["vendor_web"] = module
    spec.loader.exec_module(module)
    return module


def test_every_file_is_as_the_lock_says(tool: ModuleType) -> None:
    assert list(tool.faults()) == []
    assert all(package.licence and any("LICENSE" in file.target for file in package.files) for package in tool.packages())


def test_a_changed_a_missing_and_a_strange_file_are_named(tool: ModuleType, tmp_path: Path) -> None:
    folder = tmp_path / tool.LOCK.parent.relative_to(ROOT)
    shutil.copytree(tool.LOCK.parent, folder)
    shutil.copytree(ROOT / "tests/page/vendor", tmp_path / "tests/page/vendor")
    (folder / "dagre.js").write_text("export const layout = null;", encoding="utf-8")
    (folder / "uplot.css").unlink()
    (folder / "left.js").write_text("", encoding="utf-8")
    told = [line.rpartition("vendor/")[2] for line in tool.faults(folder / tool.LOCK.name, tmp_path)]
    assert told == ["dagre.js is not the file of @dagrejs/dagre 3.1.3", "uplot.css is not there", "left.js is not in the lock"]
