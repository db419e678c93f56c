"""Bad input: each a clear error with a code and the right exit code, never a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow
from windrow.cli.codes import CODES
from windrow.errors import JobError

FILE_COMMANDS = ("run", "check", "explain", "fmt")


@pytest.mark.parametrize("command", FILE_COMMANDS)
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "WR610"),
        (b"", "WR614"),
        (b" \n\t", "WR614"),
        (b"\x7fELF\x00\x01", "WR612"),
        (b"SELECT '\xff\xfe'", "WR612"),
        (b"-- only this", "WR102"),
    ],
)
def test_a_file_that_holds_no_sql(windrow: Windrow, command: str, content: bytes | None, code: str) -> None:
    if content is not None:
        Path("x.sql").write_bytes(content)
    done = windrow(command, "x.sql")
    assert done.exit_code == 2
    assert f"[{code}]" in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("command", FILE_COMMANDS)
def test_a_folder_is_no_file(windrow: Windrow, command: str) -> None:
    Path("jobs").mkdir()
    Path("jobs/a.sql").write_text("")
    done = windrow(command, "jobs")
    assert done.exit_code == 2
    assert "[WR611]" in done.output
    assert "jobs/a.sql" in done.output


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(windrow: Windrow) -> None:
    Path("x.sql").write_text("SELECT 1")
    Path("x.sql").chmod(0)
    assert "[WR613]" in windrow("explain", "x.sql").output


def test_a_misspelled_file_is_found(windrow: Windrow) -> None:
    Path("candles.sql").write_text("")
    assert "did you mean candles.sql?" in windrow("explain", "candels.sql").output


def test_a_byte_order_mark_is_no_part_of_the_text(windrow: Windrow) -> None:
    Path("x.sql").write_bytes(b"\xef\xbb\xbfselect a from t")
    assert windrow("fmt", "x.sql").stdout == "SELECT a\nFROM t;\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--once", "--until-end"), "WR619"),
        (("--set", "nonsense"), "WR615"),
        (("--set", "=1"), "WR615"),
        (("--set", "state.retain.batches=many"), "WR615"),
        (("--set", "state.retain.batch=3"), "WR616"),
        (("--trigger-interval", "soon"), "WR618"),
        ((), "WR620"),
    ],
)
def test_a_wrong_way_to_run(windrow: Windrow, words: tuple[str, ...], code: str) -> None:
    Path("x.sql").write_text("CREATE STREAM t (a INT) WITH ('connector' = 'generator')")
    done = windrow("run", "x.sql", *words)
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr


def test_an_unknown_setting_names_the_nearest(windrow: Windrow) -> None:
    Path("x.sql").write_text("SELECT 1")
    assert 'did you mean "state.retain.batches"?' in windrow("run", "x.sql", "--set", "state.retain.batch=3").stderr


def test_a_wrong_environment_is_named(windrow: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_PARALLELISM", "lots")
    Path("x.sql").write_text("SELECT 1")
    done = windrow("run", "x.sql")
    assert done.exit_code == 2
    assert "[WR630] WINDROW_PARALLELISM = 'lots'" in done.stderr


@pytest.mark.parametrize(
    ("error", "exit_code", "said"), [(JobError("WR850", "it broke"), 1, "[WR850] it broke"), (ValueError("odd\nmore"), 1, "[WR999]")]
)
def test_a_failure_has_its_exit_code(
    windrow: Windrow, monkeypatch: pytest.MonkeyPatch, error: Exception, exit_code: int, said: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("windrow.compiler.compile_sql", fail)
    done = windrow("explain", "-", stdin="SELECT 1")
    assert done.exit_code == exit_code
    assert said in done.stderr
    assert "more" not in done.stderr
    assert ("WINDROW_DEBUG=1" in done.stderr) == ("WR999" in said)
    assert "Traceback" not in done.stderr
    monkeypatch.setenv("WINDROW_DEBUG", "1")
    assert "Traceback" in windrow("explain", "-", stdin="SELECT 1").stderr


def test_a_package_that_is_not_installed_is_named(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
sys.argv = ["windrow", "run", "-"]
from windrow.cli.main import main
main()
"""
    sql = "CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SELECT a FROM t"
    done = subprocess.run([sys.executable, "-c", code], input=sql, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"[WR648] Windrow needs the package pyarrow, which this Python does not have ({sys.executable})" in done.stderr
    assert "-m pip install windrow" in done.stderr


def test_an_unknown_command_or_option_is_a_usage_error(windrow: Windrow) -> None:
    assert windrow("frobnicate").exit_code == 2
    assert windrow("check", "--frobnicate").exit_code == 2


def test_the_version_is_printed(windrow: Windrow) -> None:
    done = windrow("--version")
    assert done.exit_code == 0
    assert re.fullmatch(r"windrow \d+\.\d+\.\d+\n", done.stdout)


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["run", "--help"], ["check", "-"], ["explain", "-"], ["fmt", "-"]], ids=" ".join
)
def test_no_spark_is_imported(words: list[str]) -> None:
    code = f"""
import sys
from windrow.cli.main import app
app({words!r}, standalone_mode=False)
print("loaded", *(name for name in ("pyspark", "py4j") if name in sys.modules))
"""
    sql = "CREATE STREAM t (a INT) WITH ('connector' = 'generator'); SELECT a FROM t"
    done = subprocess.run([sys.executable, "-c", code], input=sql, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded"


def test_every_code_is_declared_once() -> None:
    assert all(re.fullmatch(r"WR6[0-245]\d|WR999", code) and meaning for code, meaning in CODES.items())
