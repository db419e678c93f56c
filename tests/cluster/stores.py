"""Files into and out of a file system of Hadoop's, by a process of its own: that of the tests may have a Spark with other settings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

_SCRIPT = """
import base64, json, sys
from pathlib import Path
from windrow.storage import open_folder
wish = json.load(sys.stdin)
folder = open_folder(wish["root"], settings=wish["settings"])
for name, file in wish["put"].items():
    folder.replace_atomically(name, Path(file).read_bytes())
def walk(at):
    there = folder.child(at)
    for name in there.entries():
        path = f"{at}/{name}"
        if name.startswith((".", "_")):
            continue
        if "." in name:
            yield path, folder.read(path).decode()
        else:
            yield from walk(path)
json.dump(dict(found for at in wish["read"] for found in walk(at)), sys.stdout)
"""


def put(root: str, files: Mapping[str, Path], settings: Mapping[str, str] | None = None) -> None:
    """Files by the names that they get below a folder."""
    _ask(root, {name: str(path) for name, path in files.items()}, (), settings)


def read(root: str, *folders: str, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the files below these folders hold that are not hidden; only those with an ending are files here."""
    return _ask(root, {}, folders, settings)


def _ask(root: str, files: dict[str, str], folders: tuple[str, ...], settings: Mapping[str, str] | None) -> dict[str, str]:
    wish = {"root": root, "put": files, "read": folders, "settings": dict(settings or {})}
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], input=json.dumps(wish), env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found
