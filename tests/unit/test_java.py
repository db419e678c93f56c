"""Finding and installing Java, with fake Javas and fake package managers: nothing on the machine is used or changed."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from windrow import java
from windrow.errors import UsageError
from windrow.java import JavaHome, choose_package, ensure_java, find_java, install_line, parse_version


def write_program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def fake_java(home: Path, version: str) -> Path:
    """A program that answers as Java does: everything on stderr."""
    write_program(home / "bin" / "java", f"""echo '    java.home = {home}' >&2; echo 'openjdk version "{version}" 2025-01-01' >&2""")
    return home


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Java and without package managers: a PATH with only the fakes a test puts into ``bin``."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "mkdir", "cat", "env", "chmod", "echo", "cp"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "USUAL_PLACES", (f"{tmp_path}/jvm/*",))
    monkeypatch.setattr(java, "MANUALS", f"{tmp_path}/man1")
    return tmp_path


def test_java_home_wins_over_path_and_usual_places(machine: Path) -> None:
    wished = fake_java(machine / "wished", "21.0.2")
    fake_java(machine, "17.0.1")
    fake_java(machine / "jvm" / "x", "17.0.1")
    found, _ = find_java({"JAVA_HOME": str(wished), "PATH": str(machine / "bin")}, [f"{machine}/jvm/*"])
    assert found == JavaHome(wished, 21, "21.0.2")


def test_the_home_is_what_java_says_not_where_a_shim_stands(machine: Path) -> None:
    home = fake_java(machine / "real", "17.0.1")
    write_program(machine / "bin" / "java", f'exec {home}/bin/java "$@"')
    found, _ = find_java(os.environ, [])
    assert found is not None
    assert found.path == home


def test_an_old_java_home_does_not_hide_a_good_java(machine: Path) -> None:
    old = fake_java(machine / "old", "1.8.0_402")
    good = fake_java(machine / "jvm" / "good", "17.0.9")
    found, _ = find_java({"JAVA_HOME": str(old), "PATH": ""}, [f"{machine}/jvm/*"])
    assert found is not None
    assert found.path == good


def test_among_usual_places_a_tried_release_comes_first(machine: Path) -> None:
    for version in ("30", "25.0.1", "17.0.3", "11.0.2"):
        fake_java(machine / "jvm" / f"java-{version}", version)
    found, _ = find_java({"PATH": ""}, [f"{machine}/jvm/*"])
    assert found is not None
    assert found.major == 17


def test_the_same_java_under_two_names_is_asked_once(machine: Path) -> None:
    home = fake_java(machine / "jvm" / "a", "17.0.1")
    write_program(home / "bin" / "java", f"""echo asked >> {machine}/log; echo 'version "17.0.1"' >&2""")
    (machine / "jvm" / "b").symlink_to(home)
    find_java({"PATH": ""}, [f"{machine}/jvm/*"])
    assert (machine / "log").read_text(encoding="utf-8") == "asked\n"


def test_a_place_with_a_space_or_a_broken_program_is_no_trouble(machine: Path) -> None:
    write_program(machine / "jvm" / "a stub" / "bin" / "java", "echo 'Unable to locate a Java Runtime.' >&2; exit 1")
    (machine / "jvm" / "b garbage" / "bin").mkdir(parents=True)
    garbage = machine / "jvm" / "b garbage" / "bin" / "java"
    garbage.write_bytes(b"\x7fELF nothing")
    garbage.chmod(0o755)
    home = fake_java(machine / "jvm" / "c good one", "17.0.1")
    found, _ = find_java({"PATH": ""}, [f"{machine}/jvm/*"])
    assert found is not None
    assert found.path == home


def test_no_java_is_an_error_with_a_line_to_paste(machine: Path) -> None:
    write_program(machine / "bin" / "dnf", "exit 0")
    with pytest.raises(UsageError) as raised:
        ensure_java(install=False)
    assert raised.value.code == "WR601"
    assert raised.value.message == "no Java found, and Spark needs Java 17 or newer"
    assert raised.value.hint == "sudo dnf install -y java-21-openjdk-headless"


def test_too_old_a_java_is_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(machine / "old", "11.0.2")))
    with pytest.raises(UsageError) as raised:
        ensure_java(install=False)
    assert raised.value.message == f"Spark needs Java 17 or newer: JAVA_HOME ({machine}/old) has Java 11.0.2"


def test_a_java_home_that_is_no_java_is_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(machine / "nowhere"))
    with pytest.raises(UsageError, match="nowhere\\) has no Java that starts"):
        ensure_java(install=False)


def test_nothing_is_installed_unless_allowed(machine: Path) -> None:
    write_program(machine / "bin" / "apt-get", f"echo $@ >> {machine}/log")
    with pytest.raises(UsageError):
        ensure_java(install=False)
    assert not (machine / "log").exists()


def apt_that_installs(machine: Path) -> None:
    """Fake apt: offers 21 and 25 only after an update, and installing makes a Java appear."""
    ready = fake_java(machine / "package", "21.0.4")
    write_program(
        machine / "bin" / "apt-cache", f"test -e {machine}/updated && echo 'openjdk-25-jre-headless - x\nopenjdk-21-jre-headless - x'"
    )
    write_program(
        machine / "bin" / "apt-get",
        f"""echo "$@" >> {machine}/log
if [ "$1" = update ]; then echo > {machine}/updated; else mkdir -p {machine}/jvm; cp -r {ready} {machine}/jvm/new; fi""",
    )


def test_apt_as_root_updates_then_installs_what_it_offers(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    apt_that_installs(machine)
    assert ensure_java(install=True).version == "21.0.4"
    log = (machine / "log").read_text(encoding="utf-8").splitlines()
    assert log == ["update -q", "install -y -q --no-install-recommends openjdk-21-jre-headless"]


def test_sudo_is_used_when_it_asks_no_password(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    write_program(machine / "bin" / "sudo", f'echo sudo >> {machine}/sudo-log; shift; test "$1" = true || exec "$@"')
    apt_that_installs(machine)
    assert ensure_java(install=True).version == "21.0.4"
    assert (machine / "sudo-log").exists()


def test_a_failed_apt_says_what_apt_said(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    apt_that_installs(machine)
    write_program(machine / "bin" / "apt-get", f"echo > {machine}/updated; echo 'E: Could not get lock' >&2; exit 100")
    with pytest.raises(UsageError) as raised:
        ensure_java(install=True)
    assert "installing it did not work: E: Could not get lock" in raised.value.message
    assert raised.value.hint == "sudo apt-get update && sudo apt-get install -y openjdk-21-jre-headless"


def fake_python(machine: Path, *, fetched: bool, download: str) -> str:
    """A Python whose uv and pip fetch install-jdk or not, and whose run of install-jdk does ``download``."""
    return str(
        write_program(
            machine / "python",
            f"""case "$2" in uv|pip) echo "$@" >> {machine}/log; {"exit 0" if fetched else "echo 'no index in reach' >&2; exit 1"};; esac
{download}""",
        )
    )


def test_without_apt_a_jdk_is_fetched(machine: Path) -> None:
    ready = fake_java(machine / "download", "17.0.9")
    python = fake_python(machine, fetched=True, download=f"mkdir -p {machine}/jvm; cp -r {ready} {machine}/jvm/new")
    assert ensure_java(install=True, python=python).version == "17.0.9"
    assert "--require-hashes" in (machine / "log").read_text(encoding="utf-8")


def test_an_unreachable_download_is_said_plainly(machine: Path) -> None:
    python = fake_python(machine, fetched=True, download="echo 'jdk.JdkError: Name or service not known' >&2; exit 1")
    write_program(machine / "bin" / "brew", "exit 0")
    with pytest.raises(UsageError) as raised:
        ensure_java(install=True, python=python)
    assert "the JDK could not be downloaded (jdk.JdkError: Name or service not known)" in raised.value.message
    assert raised.value.hint == "brew install openjdk@17"


def test_an_unreachable_package_index_is_said_plainly(machine: Path) -> None:
    with pytest.raises(UsageError, match=r"install-jdk could not be fetched \(no index in reach\)"):
        ensure_java(install=True, python=fake_python(machine, fetched=False, download=""))


@pytest.mark.parametrize("tool", [tool for tool, _ in java.INSTALL_LINES])
def test_every_package_manager_has_its_line(machine: Path, tool: str) -> None:
    write_program(machine / "bin" / tool, "exit 0")
    assert install_line().removeprefix("sudo ").startswith(tool)
    assert "{" not in install_line()


def test_without_a_package_manager_the_hint_still_helps(machine: Path) -> None:
    assert install_line() == "install Java 17 or newer and set JAVA_HOME to its folder"


def test_versions_that_are_none() -> None:
    assert parse_version("The operation couldn't be completed. Unable to locate a Java Runtime.") is None


def test_apt_offering_only_old_releases_is_no_offer() -> None:
    assert choose_package("openjdk-8-jre-headless - x\nopenjdk-11-jre-headless - x\nopenjdk-17-jre - x") is None
    assert choose_package("openjdk-11-jre-headless - x\nopenjdk-31-jre-headless - x") == "openjdk-31-jre-headless"


def test_activate_decides_what_spark_starts(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "too old")
    JavaHome(machine, 17, "17").activate()
    assert os.environ["JAVA_HOME"] == str(machine)


def test_the_real_java_of_this_run_is_found() -> None:
    # Whoever runs the tests was given a Java by bootstrap.py.
    assert ensure_java(install=False, python=sys.executable).major >= java.OLDEST
