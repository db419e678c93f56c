"""The wheel outside the checkout: it is built, put into an environment of its own, and does what it should from there."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.integration, pytest.mark.slow]
SQL = "CREATE STREAM t (v INT) WITH ('connector' = 'generator');\nSELECT SUM(v) AS total FROM t;\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``windrow`` of an environment that has the wheel, and of the project nothing else. Libraries are those of the tests."""
    pytest.importorskip("hatchling", reason="what builds the wheel is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    site = folder / "env" / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        install = ["uv", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    subprocess.run(install, check=True, cwd=folder)
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    start = folder / "env" / "bin" / "windrow"
    start.write_text(f"#!{folder}/env/bin/python\nfrom windrow.cli.main import main\nmain()\n")
    start.chmod(0o755)
    return start


def run(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False, cwd=program.parent, env=_environment())


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}


def test_the_environment_has_the_wheel_and_not_the_checkout(program: Path) -> None:
    asked = [str(program.with_name("python")), "-c", "import windrow; print(windrow.__file__)"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=program.parent, env=_environment()).stdout.strip()
    assert Path(found).is_relative_to(program.parents[1])


def test_version_check_and_init(program: Path, tmp_path: Path) -> None:
    assert run(program, "--version").stdout.startswith("windrow ")
    (tmp_path / "good.sql").write_text(SQL)
    (tmp_path / "wrong.sql").write_text(SQL.replace("SUM(v)", "SUM(w)"))
    assert run(program, "check", str(tmp_path / "good.sql")).returncode == 0
    wrong = run(program, "check", str(tmp_path / "wrong.sql"))
    assert (wrong.returncode, "WR214" in wrong.stdout + wrong.stderr) == (2, True)
    made = run(program, "init", str(tmp_path / "project"), "--preset", "iot")
    assert made.returncode == 0, made.stderr


@pytest.fixture
def address(program: Path, tmp_path: Path) -> Iterator[str]:
    words = [str(program), "serve", "--port", "0", "--data", str(tmp_path / "data")]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=program.parent, env=_environment())
    assert server.stdout is not None
    line = server.stdout.readline()
    assert line.startswith("Windrow serves on "), line
    server.stdout.readline()
    yield line.split()[-1]
    server.terminate()
    server.wait(30)


def test_the_server_serves_its_page_and_makes_its_registry(address: str) -> None:
    page = ROOT / "src" / "windrow" / "server" / "page"
    names = [path.relative_to(page).as_posix() for path in page.rglob("*") if path.is_file()]
    assert "vendor/preact.js" in names
    for name in names:
        with urllib.request.urlopen(f"{address}/page/{name}", timeout=30) as answer:
            assert answer.read() == (page / name).read_bytes(), name
    with urllib.request.urlopen(f"{address}/health/ready", timeout=30) as answer:
        assert answer.status == 200
