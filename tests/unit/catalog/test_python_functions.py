"""CREATE FUNCTION: what is found before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import windrow
from windrow.errors import SqlError

SOURCE = "CREATE STREAM t (a DOUBLE) WITH ('connector' = 'generator');\n"


def fault(target: str, parameters: str = "x DOUBLE") -> str:
    with pytest.raises(SqlError) as caught:
        windrow.compile(f"{SOURCE}CREATE FUNCTION f({parameters}) RETURNS DOUBLE LANGUAGE PYTHON AS '{target}'; SELECT a FROM t", env={})
    assert caught.value.code == "WR227"
    return str(caught.value)


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text("LIMIT = 3\ndef one(x): return x\ndef many(*x): return x[0]\ndef some(x, y=1): return x\n")
    Path("broken.py").write_text("def one(x) return x\n")
    Path("needy.py").write_text("import not_installed_anywhere\n")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("gone:one", 'there is no module "gone" beside the file or on the path'),
        ("good:won", "good has: one, many, some"),
        ("good:LIMIT", "something that cannot be called"),
        ("broken:one", "the module broken cannot be imported: SyntaxError"),
        ("needy:one", "install not_installed_anywhere"),
        ("good", "write 'module:function'"),
        ("good:", "write 'module:function'"),
        ("../good:one", "write 'module:function'"),
    ],
)
def test_what_cannot_be_found(target: str, said: str) -> None:
    assert said in fault(target)


def test_a_function_that_takes_another_number_of_arguments() -> None:
    assert "f is declared with 2 parameters, but the function is def one(x)" in fault("good:one", "x DOUBLE, y DOUBLE")


def test_a_function_without_parameters_is_refused() -> None:
    assert "f has no parameter" in fault("good:many", "")


@pytest.mark.parametrize("target", ["good:one", "good:many", "good:some", "math:sqrt"])
def test_what_can_be_called(target: str) -> None:
    sql = f"CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS '{target}'; SELECT f(a) AS b FROM t"
    assert windrow.compile(SOURCE + sql, env={}).plan.jobs[0].functions[0].target == target


def test_the_folder_of_the_file_goes_first(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "good.py").write_text("def other(x): return x\n")
    file = tmp_path / "sub" / "q.sql"
    file.write_text(f"{SOURCE}CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'good:other'; SELECT f(a) AS b FROM t")
    assert windrow.compile(file.read_text(), name=str(file), env={}).plan.jobs
