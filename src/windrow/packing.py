"""An archive of a whole Python for the workers of a cluster: the interpreter, its library, and the packages that run there.

An environment made by ``venv`` is of no use on another machine: it leads to the Python that it was made with. This archive holds that one,
too, and finds its parts from wherever it was unpacked. PySpark is left out: workers have their own, of the cluster's version.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

from windrow.errors import UsageError

FORMAT = 1
CARD = "windrow-pack.json"
FOLDER = "windrow-env"
"""What the archive is unpacked as, beside where an executor stands."""

PYTHON = f"./{FOLDER}/bin/python"
CANNOT_PACK, WRONG_PACK = "WR645", "WR646"

_NOT_FOR_WORKERS = frozenset({"pyspark", "py4j"})
_LEFT_OUT = frozenset(
    {"__pycache__", "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "site-packages", "dist-packages"}
)
_NO_PROGRAMS = (".pyc", ".pyi", ".pyx", ".pxd", ".pxi", ".h", ".hpp", ".a", ".pdb")
# What pyarrow brings for those who compile against it.
_UNUSED = re.compile(r"pyarrow/(?:include|src)/")
_NAME = re.compile(r"[\w.-]+")
# The environment's own variables go before: a worker of Spark's is told by PYTHONPATH where PySpark is.
_START = """#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
export PYTHONHOME="$here"
export PYTHONPATH="$here/packages${PYTHONPATH:+:$PYTHONPATH}"
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/bin/python-program" "$@"
"""


@dataclass(frozen=True)
class PackCard:
    """What an archive was made of; the first file in it."""

    python: str
    system: str
    machine: str
    libc: str
    packages: dict[str, str]
    digest: str = ""
    format: int = FORMAT

    @property
    def release(self) -> str:
        """
        >>> PackCard("3.11.7", "Linux", "x86_64", "", {}).release
        '3.11'
        """
        return ".".join(self.python.split(".")[:2])


@dataclass(frozen=True)
class Packed:
    path: Path
    card: PackCard
    # False: it was there already, made of the same.
    is_new: bool


@dataclass
class _Content:
    """Files by their name in the archive."""

    files: dict[str, Path] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def make_pack(folder: Path, extra: Sequence[str] = (), to: Path | None = None) -> Packed:
    """An archive in ``folder``, named for what is in it, or at ``to``. ``extra`` are more packages of this environment, for functions."""
    if sys.platform == "win32":
        raise UsageError(
            CANNOT_PACK, "an environment of Windows cannot be packed", "run windrow pack on a machine like the workers, or --image"
        )
    found = _distributions(["windrow", *extra])
    card = _card(found)
    target = to or folder / f"windrow-env-{card.digest[:12]}.tar.gz"
    if target.is_file() and _card_of(target) == card:
        return Packed(target, card, is_new=False)
    content = _content(found)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, card, content)
    except OSError as error:
        raise UsageError(
            CANNOT_PACK, f"cannot write {target}: {error.strerror or error}", "name another place: windrow pack --to FILE"
        ) from error
    return Packed(target, card, is_new=True)


def read_pack(path: Path) -> PackCard:
    """What is in an archive; refused where this driver could not work with workers that run it."""
    card = _card_of(path)
    if card is None:
        raise UsageError(WRONG_PACK, f"{path} is no archive of windrow pack", "make one: windrow pack")
    if card.release != _own_release():
        raise UsageError(
            WRONG_PACK, f"{path} has Python {card.release}, and this is Python {_own_release()}", "make one with this Python: windrow pack"
        )
    own = metadata.version("windrow")
    if card.packages.get("windrow", own) != own:
        raise UsageError(WRONG_PACK, f"{path} has Windrow {card.packages['windrow']}, and this is {own}", "make it anew: windrow pack")
    return card


def _card_of(path: Path) -> PackCard | None:
    try:
        with tarfile.open(path, "r:gz") as archive:
            first = archive.next()
            file = archive.extractfile(first) if first is not None and first.name == CARD else None
            card = None if file is None else PackCard(**json.load(file))
            return card if card is not None and card.format == FORMAT else None
    except FileNotFoundError:
        raise UsageError(WRONG_PACK, f"there is no file {path}", "make one: windrow pack") from None
    except (OSError, tarfile.TarError, ValueError, TypeError):
        return None


def _own_release() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _distributions(names: Iterable[str]) -> dict[str, metadata.Distribution]:
    """The packages of these names and all that they need, as they are installed here."""
    found: dict[str, metadata.Distribution] = {}
    wanted = [(name, True) for name in names]
    while wanted:
        name, is_asked_for = wanted.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found or key in _NOT_FOR_WORKERS:
            continue
        try:
            found[key] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            # What a requirement is for may be another system or Python.
            if not is_asked_for:
                continue
            hint = f"python -m pip install {name}, then pack again"
            raise UsageError(CANNOT_PACK, f"there is no package {name} in this environment", hint) from None
        needs = [_NAME.match(need) for need in found[key].requires or () if "extra ==" not in need]
        wanted += [(named[0], False) for named in needs if named is not None]
    return dict(sorted(found.items()))


def _card(found: dict[str, metadata.Distribution]) -> PackCard:
    card = PackCard(
        platform.python_version(),
        platform.system(),
        platform.machine(),
        " ".join(platform.libc_ver()).strip(),
        {name: one.version for name, one in found.items()},
    )
    digest = hashlib.sha256(json.dumps(asdict(card), sort_keys=True).encode())
    # The one package that people change without giving it another version.
    for name, path in sorted(_own_files().items()):
        digest.update(f"{name}\0".encode() + path.read_bytes())
    return PackCard(**{**asdict(card), "digest": digest.hexdigest()})


def _content(found: dict[str, metadata.Distribution]) -> _Content:
    made = _Content()
    made.texts["bin/python"] = _START
    made.files["bin/python-program"] = Path(os.path.realpath(sys.executable))
    shared = sysconfig.get_config_var("INSTSONAME") if sysconfig.get_config_var("Py_ENABLE_SHARED") else None
    library = Path(str(sysconfig.get_config_var("LIBDIR")), str(shared))
    if shared and library.is_file():
        made.files[f"lib/{shared}"] = library
    standard = Path(sysconfig.get_path("stdlib"))
    for path in _below(standard):
        made.files[f"lib/python{_own_release()}/{path.relative_to(standard)}"] = path
    for name, one in found.items():
        if name != "windrow":
            made.files.update(_files_of(one))
    made.files.update(_own_files())
    return made


def _files_of(found: metadata.Distribution) -> Iterator[tuple[str, Path]]:
    """What a package has installed, but for its programs, which lie outside of the folder of packages."""
    for file in found.files or ():
        name = str(file)
        path = Path(str(found.locate_file(file)))
        if not name.startswith("..") and _is_wanted(name) and path.is_file():
            yield f"packages/{name}", path


def _own_files() -> dict[str, Path]:
    """Of Windrow, whether it is installed or a checkout."""
    own = Path(__file__).parent
    return {f"packages/windrow/{path.relative_to(own)}": path for path in _below(own)}


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_file() and _is_wanted(name) and not name.startswith("config-"):
            yield path


def _is_wanted(name: str) -> bool:
    """
    >>> [_is_wanted(name) for name in ("polars/frame.py", "numpy/tests/a.py", "pyarrow/include/arrow/api.so", "json/__pycache__/x.pyc")]
    [True, False, False, False]
    """
    parts = Path(name).parts
    return not (_LEFT_OUT & set(parts) or name.endswith(_NO_PROGRAMS) or _UNUSED.search(name))


def _write(target: Path, card: PackCard, content: _Content) -> None:
    """Beside its place, then put there whole: another process may be reading what was there."""
    handle, fresh = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    os.close(handle)
    try:
        # Most of it is machine code of the fast kind; a higher level takes three times as long for a tenth less.
        with tarfile.open(fresh, "w:gz", compresslevel=1, dereference=True) as archive:
            _add_text(archive, CARD, json.dumps(asdict(card), indent=1), 0o644)
            for name, text in content.texts.items():
                _add_text(archive, name, text, 0o755)
            for name, path in content.files.items():
                entry = archive.gettarinfo(path, name)
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                with path.open("rb") as file:
                    archive.addfile(entry, file)
        os.replace(fresh, target)
    finally:
        Path(fresh).unlink(missing_ok=True)


def _add_text(archive: tarfile.TarFile, name: str, text: str, mode: int) -> None:
    data = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))
