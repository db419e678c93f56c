#!/usr/bin/env python3
"""From a fresh checkout to a running Windrow: ``python3 bootstrap.py demo``. Needs Python 3.11 or newer, and nothing else.

    demo        set up, then run ``windrow demo``; ``demo --server`` shows the server with three jobs
    test        set up, then run every check and test (what the CI calls); arguments that follow go to pytest
    setup       make the environment, install the packages, find or install Java
    run         set up, then run ``windrow`` with the arguments that follow:  bootstrap.py run -- --help
    lint        set up, then run only the checks: style, format, types, import rules
    python      set up, then run the environment's Python with the arguments that follow
    lock        write the lock files from pyproject.toml; ``lock --upgrade`` takes newer versions
    lock-check  fail if the lock files are not what ``lock`` would write

The environment is ``.venv`` beside this file, or the folder WINDROW_VENV names. A second run only compares a stamp.
PIP_* and UV_* variables and pip's configuration are respected, so a private package index works.
"""

# This file must stay readable for Python 3.7, so that an old one can say what is missing instead of failing on syntax.
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OLDEST_PYTHON = (3, 11)
# Looked for on PATH, in this order, when the Python that runs this file is too old.
OTHER_PYTHONS = ("python3.13", "python3.12", "python3.11", "python3.14")

ROOT = Path(__file__).resolve().parent
# "user" runs Windrow; "dev" holds the same versions and what the checks and tests need besides.
LOCKS = {"user": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
STAMP = "windrow-stamp.json"
# Present while an environment is being written. One that still has it was interrupted, and is made again.
UNFINISHED = "windrow-unfinished"
# Pinned in the development lock though nothing imports them: the installer, and what builds the project and pyspark (it ships as source).
BUILD_TOOLS = ("editables", "setuptools", "uv")
# These would lead an install or an import astray. SPARK_HOME and PYTHONPATH often belong to another Spark.
FOREIGN_VARIABLES = (
    "PYTHONHOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "__PYVENV_LAUNCHER__",
    "PIP_TARGET",
    "PIP_PREFIX",
    "UV_PYTHON",
    "UV_SYSTEM_PYTHON",
    "SPARK_HOME",
)
NO_NETWORK = re.compile(
    r"name resolution|name or service not known|nodename nor servname|network is unreachable|connection refused|no route to host|"
    r"dns error|failed to establish|error sending request|failed to fetch|client error|proxyerror|tunnel|timed? ?out",
    re.IGNORECASE,
)


class SetupError(Exception):
    """Set-up cannot go on. The message is one line and says what to do."""


@dataclass(frozen=True)
class Environment:
    """A folder with a Python of its own, and the variables its programs are started with."""

    folder: Path
    variables: Mapping[str, str]

    @property
    def programs(self) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin")

    @property
    def python(self) -> str:
        return str(self.programs / ("python.exe" if os.name == "nt" else "python"))

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        return run(self.python, *command, env=self.variables, **options)


# ---------------------------------------------------------------------------------------------------- commands


def main(arguments: Sequence[str]) -> int:
    name, rest = (arguments[0] if arguments else "help"), list(arguments[1:])
    rest = rest[1:] if rest[:1] == ["--"] else rest
    commands: dict[str, Callable[[], int]] = {
        "demo": lambda: start_windrow(prepare("user"), ["demo", *rest]),
        "test": lambda: run_tests(with_prometheus(with_chromium(with_postgres(prepare("dev")))), rest),
        "setup": lambda: report_ready(prepare("dev")),
        "run": lambda: start_windrow(prepare("user"), rest),
        "lint": lambda: run_lint(prepare("dev")),
        "python": lambda: start(prepare("dev"), ["python", *rest]),
        "lock": lambda: write_locks(prepare_uv(), rest),
        "lock-check": lambda: check_locks(prepare_uv()),
    }
    if name in ("help", "-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    try:
        if name not in commands:
            raise SetupError(f"unknown command {name!r}; there are: {', '.join(commands)}")
        require_python(arguments)
        return commands[name]()
    except SetupError as error:
        print(f"bootstrap: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bootstrap: interrupted; the same command goes on from here", file=sys.stderr)
        return 130


def report_ready(environment: Environment) -> int:
    step(4, "ready", "python3 bootstrap.py demo" if environment.folder.parent == ROOT else str(environment.folder))
    return 0


def start_windrow(environment: Environment, arguments: Sequence[str]) -> int:
    step(4, shlex.join(["windrow", *arguments]))
    return start(environment, ["windrow", *arguments])


def start(environment: Environment, command: Sequence[str]) -> int:
    """Become the command, so that signals and the exit code are its own."""
    program = str(environment.programs / command[0])
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name != "nt":  # there, exec returns to the caller at once
        os.execve(program, [program, *command[1:]], dict(environment.variables))
    return subprocess.run([program, *command[1:]], env=dict(environment.variables), check=False).returncode


CHECKS = {
    "style": ("ruff", "check", "--quiet", "."),
    "format": ("ruff", "format", "--check", "--quiet", "."),
    "types": ("mypy",),
}
IMPORT_RULES = ("pytest", "-q", "tests/unit/test_imports.py")


def run_tests(environment: Environment, arguments: Sequence[str]) -> int:
    """Every check, then every test. The tests run even when a check failed: one run shows all there is to mend."""
    step(4, "checks and tests")
    failed = run_checks(environment, CHECKS)
    print(f"failed before the tests: {', '.join(failed)} (see above)" if failed else "checks passed", flush=True)
    tests = environment.run("-m", "pytest", "-q", *(arguments or side_by_side()), cwd=ROOT)
    return tests.returncode or (1 if failed else 0)


def side_by_side() -> list[str]:
    """Every process has a Spark and servers of its own; most of a test is waiting for them. More than three need too much memory."""
    return ["-n", str(max(2, min(3, os.cpu_count() or 2))), "--dist", "worksteal"]


def run_lint(environment: Environment) -> int:
    step(4, "checks")
    return 1 if run_checks(environment, {**CHECKS, "import rules": IMPORT_RULES}) else 0


def run_checks(environment: Environment, checks: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of the checks that failed."""
    failed = []
    for name, command in checks.items():
        print(f"== {name}", flush=True)
        if environment.run("-m", *command, cwd=ROOT).returncode != 0:
            failed.append(name)
    return failed


# ---------------------------------------------------------------------------------------------------- set-up


def prepare(kind: str) -> Environment:
    """An environment that fits the lock of ``kind``, with the project and a Java in it."""
    with one_at_a_time():
        folder = environment_folder()
        if is_current(folder, kind):
            step(1, "Python environment", "ready")
            step(2, "packages", "ready")
            environment = Environment(folder, clean_variables(folder))
        else:
            previous = read_stamp(folder)
            environment = make_environment(folder)
            # What the tests need stays when only the demo is asked for, or the two commands would undo each other.
            install_packages(environment, "dev" if previous and previous["kind"] == "dev" else kind)
        return with_java(environment)


def prepare_uv() -> Environment:
    """An environment that has at least uv: enough to write the locks, even when they are missing or broken."""
    with one_at_a_time():
        folder = environment_folder()
        environment = Environment(folder, clean_variables(folder)) if is_current(folder, "dev") else make_environment(folder)
        install_uv(environment)
        return environment


def require_python(arguments: Sequence[str]) -> None:
    """Go on with this Python, or start again with a newer one from PATH."""
    if sys.version_info >= OLDEST_PYTHON:
        return
    for name in OTHER_PYTHONS:
        other = shutil.which(name)
        if other and os.name != "nt":
            os.execv(other, [other, str(Path(__file__).resolve()), *arguments])
    wanted = ".".join(map(str, OLDEST_PYTHON))
    raise SetupError(f"Python {wanted} or newer is needed, this is {platform.python_version()} ({sys.executable}); install a newer one")


def environment_folder() -> Path:
    named = os.environ.get("WINDROW_VENV")
    return Path(named).expanduser().absolute() if named else ROOT / ".venv"


def clean_variables(folder: Path) -> dict[str, str]:
    """The user's variables without those of other environments, and with this one's."""
    variables = {name: value for name, value in os.environ.items() if name not in FOREIGN_VARIABLES}
    programs = str(Environment(folder, {}).programs)
    variables.update(
        VIRTUAL_ENV=str(folder),
        PATH=os.pathsep.join([programs, os.environ.get("PATH", os.defpath)]),
        PIP_USER="0",
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        # Spark starts its Python workers by this name, and "python3" could be any other.
        PYSPARK_PYTHON=Environment(folder, {}).python,
    )
    variables.setdefault("PIP_RETRIES", "2")
    return variables


def is_current(folder: Path, kind: str) -> bool:
    """Whether a finished environment is there, in its place, and made from the very files of today."""
    stamp = read_stamp(folder)
    if (folder / UNFINISHED).exists() or not Path(Environment(folder, {}).python).exists():
        return False
    return stamp is not None and stamp["kind"] in (kind, "dev") and stamp == make_stamp(folder, stamp["kind"])


def make_stamp(folder: Path, kind: str) -> dict[str, str]:
    # The folder is part of it: programs inside hold absolute paths, so an environment that was moved or copied is of no use.
    inputs = [LOCKS[kind], ROOT / "pyproject.toml"]
    return {"kind": kind, "folder": str(folder), "inputs": " ".join(digest(path) for path in inputs)}


def read_stamp(folder: Path) -> dict[str, str] | None:
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return stamp if isinstance(stamp, dict) and stamp.get("kind") in LOCKS else None


def make_environment(folder: Path) -> Environment:
    """A usable environment in ``folder``: the one that is there, or a new one."""
    environment = Environment(folder, clean_variables(folder))
    if is_usable(environment):
        step(1, "Python environment", "found")
        return environment
    step(1, "Python environment", f"making {display(folder)} with Python {platform.python_version()}")
    remove_leftover(folder)
    mark_unfinished(folder)
    create_environment(environment)
    (folder / UNFINISHED).unlink()
    return environment


def is_usable(environment: Environment) -> bool:
    folder = environment.folder
    stamp = read_stamp(folder)
    moved = stamp is not None and stamp.get("folder") != str(folder)
    if moved or (folder / UNFINISHED).exists() or not Path(environment.python).exists():
        return False
    script = f"import sys; sys.exit(sys.version_info < {OLDEST_PYTHON} or sys.prefix == sys.base_prefix)"
    return environment.run("-c", script, capture=True).returncode == 0 and pip_of(environment) is not None


def remove_leftover(folder: Path) -> None:
    """Clear the way for a new environment, but never delete a folder that is not one."""
    if not folder.exists():
        return
    ours = any((folder / name).exists() for name in ("pyvenv.cfg", UNFINISHED, STAMP))
    if not folder.is_dir() or (not ours and any(folder.iterdir())):
        raise SetupError(f"{folder} is in the way and is no Python environment; move it, or name another folder in WINDROW_VENV")
    with explain_unwritable(folder):
        shutil.rmtree(folder)


def mark_unfinished(folder: Path) -> None:
    with explain_unwritable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / UNFINISHED).touch()
        (folder / STAMP).unlink(missing_ok=True)


@contextlib.contextmanager
def explain_unwritable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SetupError(f"cannot write {folder} ({error.strerror}); set WINDROW_VENV to a folder you can write to") from None


def create_environment(environment: Environment) -> None:
    # Not sys.executable: that may belong to an activated environment, even to the one being made again.
    base = getattr(sys, "_base_executable", None) or sys.executable
    folder = str(environment.folder)
    made = run(base, "-m", "venv", folder, env=environment.variables, capture=True)
    if made.returncode == 0:
        return
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    # Debian packs ensurepip apart. Only its own Python, under /usr, is mended by its package.
    if sys.base_prefix == "/usr" and shutil.which("apt-get") and java().root_prefix() is not None:
        note(f"installing {package}")
        if java().apt_install(package) is None and run(base, "-m", "venv", folder, env=environment.variables, capture=True).returncode == 0:
            return
    # An environment without pip needs no ensurepip, and the pip outside can install into it.
    if run(base, "-m", "venv", "--clear", "--without-pip", folder, env=environment.variables, capture=True).returncode == 0:
        (environment.folder / UNFINISHED).touch()
        if pip_of(environment) is not None:
            return
    if run(base, "-m", "virtualenv", "--quiet", folder, env=environment.variables, capture=True).returncode == 0:
        return
    if "ensurepip" in made.stdout + made.stderr:
        raise SetupError(f"this Python cannot make environments; run: sudo apt-get install -y {package}")
    raise SetupError(f"python -m venv failed: {last_line(made)}")


def pip_of(environment: Environment) -> list[str] | None:
    """How to call a pip that installs into the environment: its own, else the one of the Python that runs this file."""
    own = [environment.python, "-m", "pip"]
    outer = [sys.executable, "-m", "pip", "--python", environment.python]
    return next((pip for pip in (own, outer) if run(*pip, "--version", env=environment.variables, capture=True).returncode == 0), None)


def install_packages(environment: Environment, kind: str) -> None:
    mark_unfinished(environment.folder)
    step(2, "packages", "installing (about half a gigabyte the first time)")
    uv = install_uv(environment)
    # Sync removes whatever it is not given, and would take uv from under itself: the user lock does not name it.
    # Compiled here once: where bytecode may not be written later (PYTHONDONTWRITEBYTECODE, a read-only folder), every command and every
    # worker of Spark would compile a hundred modules again.
    uv_pip(environment, "sync", "--compile-bytecode", "--require-hashes", str(LOCKS[kind]), str(uv))
    uv_pip(environment, "install", "--no-deps", "--editable", str(ROOT))
    environment.run("-m", "compileall", "-q", str(ROOT / "src"), capture=True)
    stamp = json.dumps(make_stamp(environment.folder, kind), indent=2)
    (environment.folder / STAMP).write_text(stamp + "\n", encoding="utf-8")
    (environment.folder / UNFINISHED).unlink()


def install_uv(environment: Environment) -> Path:
    """The pinned uv, by its hash; the newest one where the lock does not name it yet. Returns the file that asks for it."""
    pinned = locked_requirement(LOCKS["dev"], "uv")
    wanted = environment.folder / "uv.txt"
    wanted.write_text(pinned or "uv\n", encoding="utf-8")
    version = environment.run("-m", "uv", "--version", capture=True).stdout.split()
    if version[1:2] and (pinned is None or pinned.startswith(f"uv=={version[1]} ")):
        return wanted
    pip = pip_of(environment)
    if pip is None:
        raise SetupError(f"{environment.folder} has no pip; delete it and run the same command again")
    done = run(*pip, "install", "--quiet", "--no-deps", "-r", str(wanted), env=environment.variables, capture=True)
    if done.returncode != 0:
        raise install_failure("uv", done)
    return wanted


def locked_requirement(lock: Path, name: str) -> str | None:
    """One package's lines of a lock, hashes included."""
    if not lock.exists():
        return None
    match = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*\n", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return match.group() if match else None


def uv_pip(environment: Environment, action: str, *arguments: str) -> None:
    """uv for the environment. Builds are held to the lock too: pyspark ships as source, and the project is built as well."""
    variables = {**environment.variables, **uv_settings(environment)}
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    options = ["--python", environment.python, "--build-constraints", str(LOCKS["dev"]), *quiet]
    command = [environment.python, "-m", "uv", "pip", action, *options, *arguments]
    # On a terminal uv draws its own progress, which needs the terminal itself.
    done = run(*command, env=variables, capture=bool(quiet))
    if done.returncode != 0:
        raise install_failure("the packages", done)


def uv_settings(environment: Environment) -> dict[str, str]:
    """pip's configuration (files and PIP_* variables) in uv's words, where the user has not told uv otherwise."""
    pip = pip_of(environment)
    listed = run(*pip, "config", "list", env=environment.variables, capture=True).stdout if pip else ""
    return translate_pip_settings(listed, environment.variables)


def translate_pip_settings(listed: str, variables: Mapping[str, str]) -> dict[str, str]:
    """
    >>> translate_pip_settings("global.index-url='https://pkgs.example/simple'", {})
    {'UV_DEFAULT_INDEX': 'https://pkgs.example/simple'}
    >>> translate_pip_settings("global.index-url='https://pkgs.example/simple'", {"UV_INDEX_URL": "https://other.example"})
    {}
    """
    # Later lines win, as they do in pip: files first, the environment last.
    pip: dict[str, str] = dict(re.findall(r"^[^\n]*?\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    values = {key: value.replace("\\n", " ").split() for key, value in pip.items()}
    # pip only warns about a folder that is not there, uv stops.
    links = [link for link in values.get("find-links", []) if "://" in link or Path(link).expanduser().is_dir()]
    found = {
        "UV_DEFAULT_INDEX": " ".join(values.get("index-url", [])),
        "UV_INDEX": " ".join(values.get("extra-index-url", [])),
        # pip looks for the best version in all indexes. That is safe here, because every file is held to its hash.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if "extra-index-url" in values else "",
        "UV_FIND_LINKS": ",".join(links),
        "UV_INSECURE_HOST": " ".join(values.get("trusted-host", [])),
        "UV_NO_INDEX": "1" if pip.get("no-index", "").lower() in ("1", "true", "yes") else "",
        "SSL_CERT_FILE": pip.get("cert", ""),
    }
    if {"UV_INDEX_URL", "UV_DEFAULT_INDEX"} & variables.keys():
        found["UV_DEFAULT_INDEX"] = ""
    return {name: value for name, value in found.items() if value and name not in variables}


def install_failure(what: str, done: subprocess.CompletedProcess[str]) -> SetupError:
    said = (done.stderr or "") + (done.stdout or "")
    if NO_NETWORK.search(said):
        return SetupError(
            f"{what} could not be downloaded: no network, or no package index in reach. "
            f"Behind a proxy set HTTPS_PROXY, with a mirror PIP_INDEX_URL, and run the same command again ({last_line(done)})"
        )
    if re.search("hash mismatch|do not match the hashes", said, re.IGNORECASE):
        print(said.rstrip(), file=sys.stderr)
        return SetupError(f"{what} could not be installed: a file is not the one in the lock; try: uv cache clean")
    if not said:
        return SetupError(f"{what} could not be installed; the lines above say why")
    print(said.rstrip(), file=sys.stderr)
    return SetupError(f"{what} could not be installed: {last_line(done)}")


def java() -> Any:
    """Windrow's own module for Java. It needs nothing installed, so it works before anything is."""
    if str(ROOT / "src") not in sys.path:
        sys.path.insert(0, str(ROOT / "src"))
    from windrow import java as module

    return module


def with_java(environment: Environment) -> Environment:
    from_source = java()
    from windrow.errors import UsageError

    try:
        try:
            home = from_source.ensure_java(install=False)
        except UsageError:
            step(3, "Java", "installing")
            home = from_source.ensure_java(install=True, python=environment.python)
    except UsageError as error:
        raise SetupError(f"{error.message}; run: {error.hint}") from None
    step(3, "Java", f"{home.version} ({home.path})")
    return Environment(environment.folder, {**environment.variables, "JAVA_HOME": str(home.path)})


def with_postgres(environment: Environment) -> Environment:
    """The tests of the PostgreSQL connector start a server of their own, if its programs are there; without them they are skipped."""
    if not shutil.which("initdb") and not any(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        install_for_tests(environment, "PostgreSQL", "postgresql")
    return environment


def with_chromium(environment: Environment) -> Environment:
    """The tests of the page use the browser of the system; without it they are skipped."""
    if not any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")):
        install_for_tests(environment, "Chromium", "chromium")
    return environment


def with_prometheus(environment: Environment) -> Environment:
    """A real Prometheus scrapes jobs in the tests, and a real Alertmanager is told of alerts; without them these tests are skipped."""
    for name, package in (("promtool", "prometheus"), ("prometheus-alertmanager", "prometheus-alertmanager")):
        if not shutil.which(name):
            install_for_tests(environment, package.replace("-", " ").title(), package)
    return environment


def install_for_tests(environment: Environment, name: str, package: str) -> None:
    note(f"installing {name} for the tests")
    prefix = java().root_prefix()
    if prefix is not None and shutil.which("apt-get"):
        # A fresh container knows of no packages yet.
        run(*prefix, "apt-get", "update", "-q", env=environment.variables, capture=True)
    trouble = java().apt_install(package)
    if trouble is not None:
        note(f"{name} is not there ({trouble}): its tests are skipped. To run them: sudo apt-get install -y {package}")


# ---------------------------------------------------------------------------------------------------- locks


def write_locks(environment: Environment, options: Sequence[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        for lock in compile_locks(environment, Path(folder), options):
            with explain_unwritable(ROOT):
                shutil.copyfile(lock, ROOT / lock.name)
    note(f"wrote {', '.join(lock.name for lock in LOCKS.values())}")
    return 0


def check_locks(environment: Environment) -> int:
    with tempfile.TemporaryDirectory() as folder:
        written = compile_locks(environment, Path(folder), [])
        stale = [lock.name for lock in written if not (ROOT / lock.name).exists() or lock.read_bytes() != (ROOT / lock.name).read_bytes()]
    if stale:
        raise SetupError(f"{', '.join(stale)} does not match pyproject.toml; run: make lock")
    note("the locks match pyproject.toml")
    return 0


def compile_locks(environment: Environment, folder: Path, options: Sequence[str]) -> list[Path]:
    """Both locks, made in a copy: uv writes the paths it is given into its comments, and there they are bare names."""
    for source in (ROOT / "pyproject.toml", *LOCKS.values()):
        if source.exists():
            shutil.copyfile(source, folder / source.name)
    user, dev = (folder / lock.name for lock in LOCKS.values())
    tools = "\n".join([*project_table()["build-system"]["requires"], *BUILD_TOOLS])
    compile_lock(environment, folder, ["pyproject.toml", "-o", user.name, *options])
    more = ["pyproject.toml", "-", "--all-extras", "--group", "dev", "-c", user.name, "-o", dev.name]
    compile_lock(environment, folder, [*more, *options], tools)
    header = f"# Written by `make lock` from pyproject.toml; do not edit.\n# inputs: {locked_inputs()}\n"
    for lock in (user, dev):
        lock.write_text(header + lock.read_text(encoding="utf-8"), encoding="utf-8")
    return [user, dev]


def compile_lock(environment: Environment, folder: Path, arguments: Sequence[str], given: str = "") -> None:
    fixed = ["--universal", "--python-version", ".".join(map(str, OLDEST_PYTHON)), "--generate-hashes", "--no-header", "--quiet"]
    # No address of an index may enter a lock: whoever installs chooses the index, the hashes choose the files.
    private = ["--no-emit-index-url", "--no-emit-find-links"]
    done = environment.run("-m", "uv", "pip", "compile", *fixed, *private, *arguments, cwd=folder, capture=True, input=given)
    if done.returncode != 0:
        raise install_failure("the lock files", done)


def locked_inputs() -> str:
    """A fingerprint of all that decides what is locked; the header of each lock holds it, so a stale lock shows without network."""
    table = project_table()
    project = {key: table["project"].get(key) for key in ("requires-python", "dependencies", "optional-dependencies")}
    inputs = [project, table.get("dependency-groups"), table["build-system"]["requires"], BUILD_TOOLS]
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def project_table() -> dict[str, Any]:
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# ---------------------------------------------------------------------------------------------------- small tools


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two set-ups at once would undo each other. The lock is this very file, so nothing is left behind."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    with open(__file__, encoding="utf-8") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note("waiting for another set-up to finish")
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        yield


def run(
    *command: str, env: Mapping[str, str], capture: bool = False, cwd: Path | None = None, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    pipe = subprocess.PIPE if capture else None
    try:
        return subprocess.run(command, env=dict(env), cwd=cwd, input=input, stdout=pipe, stderr=pipe, text=True, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        raise SetupError(f"{path.name} is missing beside bootstrap.py; is this a whole checkout?") from None


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in ((done.stderr or "") + (done.stdout or "")).splitlines() if line.strip()]
    # uv puts its reason last, pip often puts advice after it.
    errors = [line for line in lines if line.startswith("ERROR:")]
    return (errors or lines or [f"exit code {done.returncode}"])[-1]


def display(folder: Path) -> str:
    return folder.name if folder.parent == ROOT else str(folder)


def step(number: int, name: str, state: str = "") -> None:
    print(f"[{number}/4] {name}{f' ... {state}' if state else ''}", file=sys.stderr, flush=True)


def note(text: str) -> None:
    print(f"      {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
