"""The files of the page that are not ours: ``fetch`` takes them from npm by the lock, ``check`` compares what is there with it.

python tools/vendor_web.py fetch|check

For another version of a package, change its version and empty its ``sha512`` in the lock; ``fetch`` fills in what it got. Review the diff.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "src/windrow/server/page/vendor/web.lock.toml"
# Browsers ask for what this line names, and it is not there.
_SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")


@dataclass(frozen=True)
class File:
    """``source`` is its name in the package, ``target`` the one here; ``sha512`` is of the file here."""

    source: str
    target: str
    sha512: str


@dataclass(frozen=True)
class Package:
    """``sha512`` is of its archive, as npm states it (``dist.integrity``)."""

    name: str
    version: str
    sha512: str
    licence: str
    files: tuple[File, ...]


def packages(lock: Path = LOCK) -> list[Package]:
    found = tomllib.loads(lock.read_text(encoding="utf-8"))["package"]
    return [Package(**{**one, "files": tuple(File(**each) for each in one["files"])}) for one in found]


def sha512(data: bytes) -> str:
    return base64.b64encode(hashlib.sha512(data).digest()).decode()


def faults(lock: Path = LOCK, root: Path = ROOT) -> Iterator[str]:
    """Where what is there is not what the lock says."""
    for package in packages(lock):
        for file in package.files:
            path = root / file.target
            if not path.exists():
                yield f"{file.target} is not there"
            elif sha512(path.read_bytes()) != file.sha512:
                yield f"{file.target} is not the file of {package.name} {package.version}"
    named = {root / file.target for package in packages(lock) for file in package.files}
    for folder in {path.parent for path in named}:
        strange = [path for path in folder.iterdir() if path not in named and path != lock]
        yield from (f"{path.relative_to(root)} is not in the lock" for path in strange)


def fetch() -> None:
    text = LOCK.read_text(encoding="utf-8")
    for package in packages():
        archive = packed(package)
        got = sha512(archive)
        if package.sha512 and got != package.sha512:
            raise SystemExit(f"{package.name} {package.version} is not what the lock says: {got}")
        text = _filled(text, f'name = "{package.name}"', got)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            for file in package.files:
                member = tar.extractfile(f"package/{file.source}")
                assert member is not None, file.source
                data = _SOURCE_MAP.sub(b"\n", member.read())
                (ROOT / file.target).parent.mkdir(parents=True, exist_ok=True)
                (ROOT / file.target).write_bytes(data)
                text = _filled(text, f'target = "{file.target}"', sha512(data))
        print(f"{package.name} {package.version}: {len(package.files)} files")
    LOCK.write_text(text, encoding="utf-8")


def packed(package: Package) -> bytes:
    """The archive as npm has it, from wherever npm is told to fetch."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["npm", "pack", "--silent", "--pack-destination", folder, f"{package.name}@{package.version}"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).iterdir()
        return archive.read_bytes()


def _filled(text: str, after: str, value: str) -> str:
    """The first ``sha512`` after a place."""
    at = text.index(after)
    return text[:at] + re.sub(r'sha512 = "[^"]*"', f'sha512 = "{value}"', text[at:], count=1)


def main(arguments: list[str]) -> int:
    if arguments == ["fetch"]:
        fetch()
    elif arguments != ["check"]:
        print(__doc__)
        return 2
    found = list(faults())
    print("\n".join(found) if found else "everything is as the lock says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
