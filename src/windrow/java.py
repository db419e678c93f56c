"""Java for Spark: find one that is new enough, or install one where that is allowed.

Standard library only, and nothing of ours but ``errors``: ``bootstrap.py`` runs this before any dependency is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.errors import UsageError

OLDEST = 17
"""The oldest Java that Spark 4.3 starts on."""

TRIED = (17, 21, 25)
"""Long-term releases, in the order they are preferred where there is a choice."""

CODE = "WR601"

# One wheel for every platform, so one hash. It is fetched into a throw-away folder and never becomes a dependency.
INSTALL_JDK = "install-jdk==1.1.0 --hash=sha256:b63f0fcd63f7abab3443d4120ba92716397753b8a8ea3c85762a629925a9936e"

USUAL_PLACES = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*",
    "/usr/local/opt/openjdk*",
    "~/.jdk/*",
    "~/.jdk/*/Contents/Home",
    "~/.jdks/*",
    "~/.sdkman/candidates/java/*",
    "~/.asdf/installs/java/*",
    "~/.local/share/mise/installs/java/*",
)

# Slim images lack this folder, and some releases of Debian's Java fail to set up without it.
MANUALS = "/usr/share/man/man1"

# What a person pastes, by the package manager that is there. ``{apt}`` is the package apt offers.
INSTALL_LINES = (
    ("apt-get", "sudo apt-get update && sudo apt-get install -y {apt}"),
    ("dnf", "sudo dnf install -y java-21-openjdk-headless"),
    ("apk", "sudo apk add openjdk17-jre-headless"),
    ("zypper", "sudo zypper install -y java-17-openjdk-headless"),
    ("pacman", "sudo pacman -S --noconfirm jre17-openjdk-headless"),
    ("brew", "brew install openjdk@17"),
    ("winget", "winget install EclipseAdoptium.Temurin.17.JDK"),
)


@dataclass(frozen=True)
class JavaHome:
    """A Java that was started once and answered."""

    path: Path
    major: int
    version: str

    def activate(self) -> None:
        """Make the Spark that this process starts use this Java."""
        # Set, not defaulted: a JAVA_HOME that names too old a Java is why another one was looked for.
        os.environ["JAVA_HOME"] = str(self.path)


def ensure_java(install: bool, python: str = sys.executable) -> JavaHome:
    """A Java that Spark can use, installed first if there is none and ``install`` allows it.

    ``python`` is the interpreter whose ``uv`` or ``pip`` fetches the installer where there is no Debian package to take.
    """
    found, rejected = find_java(os.environ, USUAL_PLACES)
    if found is not None:
        return found
    why = _why_not(rejected)
    if install:
        failure = _install(python)
        found, _ = find_java(os.environ, USUAL_PLACES)
        if found is not None:
            return found
        why = f"{why}, and installing it did not work: {failure or 'no Java appeared'}"
    raise UsageError(CODE, why, install_line())


def find_java(environ: Mapping[str, str], places: Iterable[str]) -> tuple[JavaHome | None, tuple[str, ...]]:
    """The Java to use, else what was looked at and why it will not do.

    JAVA_HOME and PATH state a wish and win in this order; among the rest the releases Spark was tried on come first.
    """
    rejected: list[str] = []
    for origin, program in _wished(environ):
        java = _ask(program)
        if java is not None and java.major >= OLDEST:
            return java, ()
        rejected.append(f"{origin} has {f'Java {java.version}' if java else 'no Java that starts'}")
    others = [java for java in map(_ask, _programs(places)) if java is not None]
    good = [java for java in others if java.major >= OLDEST]
    if good:
        return min(good, key=_preference), ()
    rejected.extend(f"{java.path} has Java {java.version}" for java in others)
    return None, tuple(rejected)


def parse_version(text: str) -> tuple[int, str] | None:
    """Major release and full version out of what ``java -version`` prints.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    (17, '17.0.15')
    >>> parse_version('java version "1.8.0_402"')
    (8, '1.8.0_402')
    >>> parse_version('openjdk version "25-ea" 2025-09-16')
    (25, '25-ea')
    """
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', text)
    return (int(match.group(2)), match.group(1)) if match else None


def install_line() -> str:
    """One line to paste on this platform that installs a Java Spark can use."""
    for tool, line in INSTALL_LINES:
        if shutil.which(tool):
            return line.format(apt=_debian_package() or f"openjdk-{OLDEST}-jre-headless")
    return f"install Java {OLDEST} or newer and set JAVA_HOME to its folder"


def root_prefix() -> list[str] | None:
    """What to write before a command so that it runs as root without asking: nothing, ``sudo -n``, or None if there is no way."""
    if not hasattr(os, "geteuid"):
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and _run(["sudo", "-n", "true"]).returncode == 0:
        return ["sudo", "-n"]
    return None


def apt_install(package: str) -> str | None:
    """Install a Debian package; what went wrong, or None."""
    prefix = root_prefix()
    if prefix is None or not shutil.which("apt-get"):
        return "apt-get needs root"
    # ``env`` rather than our own environment: sudo drops the latter.
    done = _run([*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "--no-install-recommends", package])
    return None if done.returncode == 0 else _last_line(done)


def _wished(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    home = environ.get("JAVA_HOME")
    if home:
        yield f"JAVA_HOME ({home})", _program(Path(home))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        yield f"PATH ({on_path})", Path(on_path)


def _programs(places: Iterable[str]) -> Iterator[Path]:
    seen: set[Path] = set()
    for place in places:
        pattern = Path(place).expanduser()
        for folder in sorted(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))):
            program = _program(folder)
            if program.is_file() and program.resolve() not in seen:
                seen.add(program.resolve())
                yield program


def _program(home: Path) -> Path:
    return home / "bin" / ("java.exe" if os.name == "nt" else "java")


def _ask(program: Path) -> JavaHome | None:
    """Start it: a folder may hold a stub, a shim or another machine's binary, and only Java itself knows its home."""
    try:
        done = _run([str(program), "-XshowSettings:properties", "-version"], timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    answer = done.stderr + done.stdout
    version = parse_version(answer)
    if done.returncode != 0 or version is None:
        return None
    home = re.search(r"^\s*java\.home = (.+?)\s*$", answer, re.MULTILINE)
    return JavaHome(Path(home.group(1)) if home else program.resolve().parent.parent, *version)


def _preference(java: JavaHome) -> tuple[int, int]:
    return (TRIED.index(java.major), 0) if java.major in TRIED else (len(TRIED), -java.major)


def _why_not(rejected: Sequence[str]) -> str:
    if not rejected:
        return f"no Java found, and Spark needs Java {OLDEST} or newer"
    return f"Spark needs Java {OLDEST} or newer: {', '.join(rejected)}"


def _install(python: str) -> str | None:
    """Install a Java in the way this machine offers; what went wrong, or None."""
    prefix = root_prefix()
    if prefix is None or not shutil.which("apt-get"):
        return _install_jdk(python)
    updated = _run([*prefix, "apt-get", "update", "-q"])
    package = _debian_package()
    if package is None:
        failed = f"apt-get offers no openjdk-*-jre-headless from {OLDEST} on"
        return f"{failed} ({_last_line(updated)})" if updated.returncode else failed
    _run([*prefix, "mkdir", "-p", MANUALS])
    return apt_install(package)


def _debian_package() -> str | None:
    if not shutil.which("apt-cache"):
        return None
    names = _run(["apt-cache", "search", "--names-only", r"^openjdk-[0-9]+-jre-headless$"]).stdout
    return choose_package(names)


def choose_package(listing: str) -> str | None:
    """The package to take from what ``apt-cache search`` lists: a release that was tried, else the newest.

    >>> choose_package("openjdk-11-jre-headless - x\\nopenjdk-25-jre-headless - x\\nopenjdk-21-jre-headless - x")
    'openjdk-21-jre-headless'
    """
    offered = {int(number) for number in re.findall(r"^openjdk-(\d+)-jre-headless\b", listing, re.MULTILINE)}
    usable = [*(major for major in TRIED if major in offered), *sorted((m for m in offered if m > OLDEST), reverse=True)]
    return f"openjdk-{usable[0]}-jre-headless" if usable else None


def _install_jdk(python: str) -> str | None:
    """Fetch a JDK into ~/.jdk, one of the usual places, with the ``install-jdk`` package; what went wrong, or None."""
    with tempfile.TemporaryDirectory(prefix="windrow-jdk-") as folder:
        wanted = Path(folder, "requirements.txt")
        wanted.write_text(INSTALL_JDK + "\n", encoding="utf-8")
        target = Path(folder, "site")
        arguments = ["install", "--quiet", "--no-deps", "--require-hashes", "--target", str(target), "-r", str(wanted)]
        fetched = _run([python, "-m", "uv", "pip", *arguments, "--python", python])
        if fetched.returncode != 0:
            fetched = _run([python, "-m", "pip", *arguments])
        if fetched.returncode != 0:
            return f"the package install-jdk could not be fetched ({_last_line(fetched)})"
        # A full JDK: the smaller runtime images may lack the module jdk.incubator.vector, which Spark loads.
        script = f"import sys; sys.path.insert(0, {str(target)!r}); import jdk; jdk.install({str(OLDEST)!r})"
        installed = _run([python, "-c", script])
    return None if installed.returncode == 0 else f"the JDK could not be downloaded ({_last_line(installed)})"


def _run(command: Sequence[str], timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, stdin=subprocess.DEVNULL)
    except FileNotFoundError as missing:
        return subprocess.CompletedProcess(command, 127, "", str(missing))


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"exit code {done.returncode}"
