"""The set-up program: what it decides, said without network and without touching the real environment; and the state of the locks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import bootstrap
from bootstrap import LOCKS, ROOT, STAMP, UNFINISHED, Environment, SetupError

Answer = Callable[[tuple[str, ...]], int]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An environment's folder that is not there yet, in a place whose name has a space."""
    folder = tmp_path / "a place" / ".venv"
    monkeypatch.setenv("WINDROW_VENV", str(folder))
    return folder


def finished_environment(folder: Path, kind: str) -> Environment:
    environment = Environment(folder, {})
    environment.programs.mkdir(parents=True)
    Path(environment.python).symlink_to(sys.executable)
    (folder / "pyvenv.cfg").touch()
    (folder / STAMP).write_text(json.dumps(bootstrap.make_stamp(folder, kind)), encoding="utf-8")
    return environment


def record_runs(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[tuple[str, ...]]:
    """Replace every started program by ``answer``, its exit code."""
    commands: list[tuple[str, ...]] = []

    def run(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, answer(command), "", "")

    monkeypatch.setattr(bootstrap, "run", run)
    return commands


# ------------------------------------------------------------------------------------------------ as a program


def started(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "bootstrap.py"), *arguments]
    return subprocess.run(command, cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False)


def test_help_works_from_any_folder(tmp_path: Path) -> None:
    done = started("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert "bootstrap.py demo" in done.stdout


def test_an_unknown_command_names_the_known_ones(tmp_path: Path) -> None:
    done = started("tset", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == "bootstrap: unknown command 'tset'; there are: demo, test, setup, run, lint, python, lock, lock-check\n"


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    # A file in the middle of the path fails for root as well, whom no permission stops.
    (tmp_path / "file").touch()
    done = started("setup", cwd=tmp_path, WINDROW_VENV=str(tmp_path / "file" / "venv"))
    assert done.returncode == 2
    assert re.search(r"^bootstrap: cannot write .*; set WINDROW_VENV to a folder you can write to\n\Z", done.stderr, re.MULTILINE)


def test_a_foreign_folder_is_never_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    done = started("setup", cwd=tmp_path, WINDROW_VENV=str(tmp_path))
    assert done.returncode == 2
    assert "is in the way and is no Python environment" in done.stderr
    assert (tmp_path / "mine.txt").exists()


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert bootstrap.main(["demo"]) == 2
    assert capsys.readouterr().err.startswith("bootstrap: Python 3.11 or newer is needed, this is ")


def test_an_old_python_hands_over_to_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[str]] = []
    monkeypatch.setattr(sys, "version_info", (3, 9, 18))
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name == "python3.12" else None)
    monkeypatch.setattr(os, "execv", lambda program, arguments: taken.append(arguments))
    with pytest.raises(SetupError):  # exec does not come back; the fake one does
        bootstrap.require_python(["demo", "--x"])
    assert taken == [["/bin/python3.12", str(ROOT / "bootstrap.py"), "demo", "--x"]]


# ------------------------------------------------------------------------------------------------ the stamp


def test_a_finished_environment_is_current(folder: Path) -> None:
    finished_environment(folder, "dev")
    assert bootstrap.is_current(folder, "dev")
    assert bootstrap.is_current(folder, "user")


def test_the_demo_environment_is_not_enough_for_tests(folder: Path) -> None:
    finished_environment(folder, "user")
    assert bootstrap.is_current(folder, "user")
    assert not bootstrap.is_current(folder, "dev")


def test_a_changed_lock_makes_it_stale(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    finished_environment(folder, "dev")
    other = tmp_path / "other.lock"
    other.write_text("another==1\n", encoding="utf-8")
    monkeypatch.setitem(LOCKS, "dev", other)
    assert not bootstrap.is_current(folder, "dev")


def test_an_environment_that_was_moved_is_not_used(folder: Path) -> None:
    finished_environment(folder, "dev")
    moved = folder.with_name("moved")
    folder.rename(moved)
    assert not bootstrap.is_current(moved, "dev")
    assert not bootstrap.is_usable(Environment(moved, {}))


def test_an_interrupted_environment_is_made_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finished_environment(folder, "dev")
    (folder / UNFINISHED).touch()
    (folder / "leftover").touch()
    assert not bootstrap.is_current(folder, "dev")
    monkeypatch.setattr(bootstrap, "create_environment", lambda environment: None)
    bootstrap.make_environment(folder)
    assert not (folder / "leftover").exists()
    assert not (folder / UNFINISHED).exists()


def test_packages_are_unfinished_until_the_last_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = finished_environment(folder, "dev")
    monkeypatch.setattr(bootstrap, "install_uv", lambda environment: folder / "uv.txt")

    def interrupted(*arguments: object) -> None:
        assert (folder / UNFINISHED).exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "uv_pip", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bootstrap.install_packages(environment, "dev")
    assert not bootstrap.is_current(folder, "dev")
    monkeypatch.setattr(bootstrap, "uv_pip", lambda *arguments: None)
    bootstrap.install_packages(environment, "dev")
    assert bootstrap.is_current(folder, "dev")


def test_an_environment_whose_python_is_gone_is_not_used(folder: Path) -> None:
    environment = finished_environment(folder, "dev")
    Path(environment.python).unlink()
    Path(environment.python).symlink_to(folder / "gone")
    assert not bootstrap.is_current(folder, "dev")
    assert not bootstrap.is_usable(environment)


# ------------------------------------------------------------------------------------------------ making it


def test_variables_of_other_environments_do_not_leak_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in bootstrap.FOREIGN_VARIABLES:
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("PIP_INDEX_URL", "https://pkgs.example/simple")
    variables = bootstrap.clean_variables(folder)
    assert variables["VIRTUAL_ENV"] == str(folder)
    assert "elsewhere" not in variables.values()
    assert variables["PIP_INDEX_URL"] == "https://pkgs.example/simple"
    assert variables["PATH"].startswith(str(folder))


def test_without_ensurepip_the_pip_outside_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(parents=True)
    environment = Environment(folder, {})

    def answer(command: tuple[str, ...]) -> int:
        own_pip = command[:3] == (environment.python, "-m", "pip")
        plain_venv = "venv" in command and "--without-pip" not in command
        return 1 if own_pip or plain_venv else 0

    monkeypatch.setattr(sys, "base_prefix", "/somewhere")
    record_runs(monkeypatch, answer)
    bootstrap.create_environment(environment)
    assert bootstrap.pip_of(environment) == [sys.executable, "-m", "pip", "--python", environment.python]


def test_debian_without_venv_is_mended_by_root(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed: list[str] = []
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(bootstrap.java(), "root_prefix", list)
    monkeypatch.setattr(bootstrap.java(), "apt_install", installed.append)
    commands = record_runs(monkeypatch, lambda command: 0 if installed else 1)
    bootstrap.create_environment(Environment(folder, {}))
    assert installed == [f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"]
    assert len(commands) == 2


def test_no_way_to_make_an_environment_is_one_line_to_paste(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/somewhere")

    def run(*command: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "ensurepip is not available", "")

    monkeypatch.setattr(bootstrap, "run", run)
    with pytest.raises(SetupError, match=r"run: sudo apt-get install -y python3\.\d+-venv$"):
        bootstrap.create_environment(Environment(folder, {}))


@pytest.mark.parametrize(
    "said",
    [
        "Failed to establish a new connection: [Errno -3] Temporary failure in name resolution",
        "error: Failed to fetch: `x`\n  Caused by: dns error",
        "  Caused by: tcp connect error: Connection refused (os error 111)",
        "ReadTimeoutError: Read timed out.",
    ],
)
def test_no_network_is_said_in_one_line(said: str) -> None:
    message = str(bootstrap.install_failure("uv", subprocess.CompletedProcess([], 1, "", said)))
    assert message.startswith("uv could not be downloaded: no network, or no package index in reach.")
    assert "\n" not in message


def test_another_failure_is_not_called_a_network_failure(capsys: pytest.CaptureFixture[str]) -> None:
    failure = bootstrap.install_failure("uv", subprocess.CompletedProcess([], 1, "", "x\nERROR: disk full\nsee the manual"))
    assert str(failure) == "uv could not be installed: ERROR: disk full"
    assert "see the manual" in capsys.readouterr().err


@pytest.mark.parametrize("said", ["error: Hash mismatch for `x==1`", "THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE."])
def test_a_file_that_is_not_the_locked_one_is_refused_plainly(said: str) -> None:
    message = str(bootstrap.install_failure("uv", subprocess.CompletedProcess([], 1, "", said)))
    assert "a file is not the one in the lock" in message


def test_pip_settings_in_the_words_of_uv(tmp_path: Path) -> None:
    listed = f"""global.cert='/etc/ssl/own.pem'
global.extra-index-url='https://a.example/simple\\nhttps://b.example/simple'
global.index-url='https://file.example/simple'
global.trusted-host='a.example'
:env:.find-links='{tmp_path} {tmp_path}/missing'
:env:.index-url='https://env.example/simple'
:env:.no-index='true'
"""
    assert bootstrap.translate_pip_settings(listed, {"SSL_CERT_FILE": "kept"}) == {
        "UV_DEFAULT_INDEX": "https://env.example/simple",
        "UV_INDEX": "https://a.example/simple https://b.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_FIND_LINKS": str(tmp_path),
        "UV_INSECURE_HOST": "a.example",
        "UV_NO_INDEX": "1",
    }


# ------------------------------------------------------------------------------------------------ running


@pytest.mark.parametrize(
    ("packages", "install"),
    [
        (["postgresql"], bootstrap.with_postgres),
        (["chromium"], bootstrap.with_chromium),
        (["prometheus", "prometheus-alertmanager"], bootstrap.with_prometheus),
    ],
)
def test_what_the_tests_need_is_installed_where_that_is_possible(
    packages: list[str], install: Callable[[Environment], Environment], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def refuse(package: str) -> str:
        asked.append(package)
        return "apt-get needs root"

    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(Path, "glob", lambda _path, _pattern: iter(()))
    monkeypatch.setattr(bootstrap.java(), "apt_install", refuse)
    monkeypatch.setattr(bootstrap.java(), "root_prefix", lambda: None)
    environment = Environment(Path("x"), {})
    assert install(environment) is environment
    assert asked == packages
    told = capsys.readouterr().err
    assert all(f"sudo apt-get install -y {package}\n" in told for package in packages)


def test_the_tests_run_even_after_a_failed_check(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    commands = record_runs(monkeypatch, lambda command: 1 if "mypy" in command else 0)
    assert bootstrap.run_tests(Environment(Path("x"), {}), ["-k", "y"]) == 1
    assert commands[-1][1:] == ("-m", "pytest", "-q", "-k", "y")
    assert "failed before the tests: types" in capsys.readouterr().out


def test_failing_tests_fail_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    record_runs(monkeypatch, lambda command: 5 if "pytest" in command else 0)
    assert bootstrap.run_tests(Environment(Path("x"), {}), []) == 5


# ------------------------------------------------------------------------------------------------ the locks


@pytest.mark.parametrize("lock", LOCKS.values(), ids=lambda lock: lock.name)
def test_a_lock_is_of_this_pyproject(lock: Path) -> None:
    assert f"# inputs: {bootstrap.locked_inputs()}\n" in lock.read_text(encoding="utf-8"), "run: make lock"


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([\w.-]+)==(\S+)", lock.read_text(encoding="utf-8"), re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS.values(), ids=lambda lock: lock.name)
def test_every_locked_package_has_a_hash(lock: Path) -> None:
    requirements = [bootstrap.locked_requirement(lock, name) for name in pins(lock)]
    assert requirements
    assert all(requirement is not None and "--hash=sha256:" in requirement for requirement in requirements)


def test_the_development_lock_holds_the_same_versions_and_the_build_tools() -> None:
    user, dev = pins(LOCKS["user"]), pins(LOCKS["dev"])
    assert user.items() <= dev.items()
    assert {"hatchling", *bootstrap.BUILD_TOOLS} <= dev.keys()


def test_one_requirement_is_cut_out_of_a_lock(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    lock.write_text(
        "a==1 \\\n    --hash=sha256:0\n    # via b\nuv==2 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n    # via -r -\nuv-x==3\n",
        encoding="utf-8",
    )
    assert bootstrap.locked_requirement(lock, "uv") == "uv==2 \\\n    --hash=sha256:1 \\\n    --hash=sha256:2\n"
    assert bootstrap.locked_requirement(lock, "v") is None


# ------------------------------------------------------------------------------------------------ the checkout


def project_files() -> list[Path]:
    """What git tracks or would add; in a copy without git, what is not ignored by its top-level name."""
    listing = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=ROOT, capture_output=True, check=False) if shutil.which("git") else None
    if listed is not None and listed.returncode == 0:
        paths = [ROOT / os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        ignored = {line.strip().strip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()} | {".git"}
        paths = [path for path in ROOT.rglob("*") if not ignored & set(path.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


# Put together here, so that this file does not hold what it forbids.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("registry", "npmjs", "org"),
        ("deb", "debian", "org"),
        ("security", "debian", "org"),
        ("archive", "ubuntu", "com"),
    )
]
MACHINE_PATHS = ["/" + "work/", "/" + "root/", "/" + "home/", "/" + "Users/"]


def test_nothing_names_a_package_registry_or_a_path_of_one_machine() -> None:
    # A path counts where it starts: after a word or a dot it is part of an address or of a relative path.
    forbidden = re.compile("|".join([*map(re.escape, REGISTRIES), rf"(?<![\w.~}}/-])(?:{'|'.join(MACHINE_PATHS)})"]).encode())
    files = project_files()
    assert ROOT / "bootstrap.py" in files
    found = {str(path.relative_to(ROOT)): match.group().decode() for path in files if (match := forbidden.search(path.read_bytes()))}
    assert found == {}
