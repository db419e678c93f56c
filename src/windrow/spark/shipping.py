"""What executors of a cluster get before their first task: a Python, jars, and the folder that relative paths start from."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from windrow.errors import UsageError
from windrow.packing import FOLDER, PYTHON, WRONG_PACK, read_pack
from windrow.settings import spark_home, worker_python
from windrow.spark.internals.executors import is_cluster_master

PACK, IMAGE = "workers.pack", "workers.image"
OWN = (PACK, IMAGE)
_ARCHIVES, _FILES, _JARS, _PACKAGES = "spark.archives", "spark.files", "spark.jars", "spark.jars.packages"
_K8S_IMAGE = "spark.kubernetes.container.image"
_LISTS_OF_FILES = (_ARCHIVES, _FILES, _JARS, "spark.submit.pyFiles")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True)
class Shipped:
    """``settings`` are Spark's; ``python`` is what workers run. ``stands_in`` is where Java is to stand, where that is not here."""

    settings: Mapping[str, str] = field(default_factory=dict)
    python: str = sys.executable
    stands_in: Path | None = None


def shipped(master: str, settings: Mapping[str, str]) -> Shipped:
    """What a session for this master has to be told, of ``workers.pack`` and ``workers.image`` and of Spark's own settings."""
    pack, image = settings.get(PACK), settings.get(IMAGE)
    chosen = worker_python()
    if not is_cluster_master(master):
        if pack or image:
            given = f"{PACK} = {pack}" if pack else f"{IMAGE} = {image}"
            raise UsageError(
                WRONG_PACK, f"{given} is for the workers of a cluster, and {master} has none", "leave it out, or give --master"
            )
        return Shipped(python=chosen or sys.executable)
    if image:
        _check_image(master, pack)
        return Shipped({_K8S_IMAGE: image}, chosen or "python3")
    if pack is None:
        # What Spark itself would take. The driver's own interpreter is nothing that other machines have.
        return Shipped(python=chosen or "python3")
    address = pack if _SCHEME.match(pack) else os.path.abspath(os.path.expanduser(pack))
    if address == pack or not _SCHEME.match(pack):
        read_pack(Path(address))
    named = {key: ",".join(map(_absolute, settings[key].split(","))) for key in _LISTS_OF_FILES if settings.get(key)}
    archives = [*filter(None, [named.get(_ARCHIVES)]), f"{address}#{FOLDER}"]
    return Shipped({**named, _ARCHIVES: ",".join(archives)}, PYTHON, _like_an_executors(named.get(_FILES, "")))


def with_jars(settings: Mapping[str, str], jars: list[Path]) -> dict[str, str]:
    """Jars beside those that were given."""
    return {**settings, _JARS: ",".join([*filter(None, [settings.get(_JARS)]), *map(str, jars)])}


def brings(settings: Mapping[str, str], name: str) -> bool:
    """Whether a jar whose name begins so comes with the settings, or with the Spark that starts, as with those of vendors."""
    given = ",".join(settings.get(key, "") for key in (_JARS, _PACKAGES))
    home = spark_home()
    return name in given or (home is not None and any(home.glob(f"jars/{name}*.jar")))


def spark_submit() -> str:
    """The program of the Spark that is installed, or else of PySpark's own."""
    found = find_spec("pyspark")
    own = found.submodule_search_locations[0] if found is not None and found.submodule_search_locations else ""
    return str((spark_home() or Path(own)) / "bin" / "spark-submit")


def _check_image(master: str, pack: str | None) -> None:
    if pack:
        raise UsageError(WRONG_PACK, f"{IMAGE} and {PACK} exclude each other", "an image has its own Python: leave the archive out")
    if not master.startswith("k8s://"):
        hint = "--pack FILE ships an environment to the workers of any cluster: windrow pack makes one"
        raise UsageError(WRONG_PACK, f"{IMAGE} is for Kubernetes, and the master is {master}", hint)


def _absolute(listed: str) -> str:
    """A file of a list of Spark's, with the name that may follow it.

    >>> _absolute("hdfs:/a.jar#b"), os.path.isabs(_absolute("a.zip"))
    ('hdfs:/a.jar#b', True)
    """
    return listed if _SCHEME.match(listed) or not listed.strip() else os.path.abspath(os.path.expanduser(listed.strip()))


def _like_an_executors(files: str) -> Path:
    """A folder for the driver's Java to stand in, with what an executor finds where it stands: the Python of the archive, and files.

    Spark plans sources that are written in Python in the driver, by the very path of the workers' Python.
    """
    folder = Path(tempfile.mkdtemp(prefix="windrow-driver-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / PYTHON
    program.parent.mkdir(parents=True)
    # No link: an environment's Python knows by its place which packages it has.
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    for file in filter(None, files.split(",")):
        path, _, name = file.removeprefix("file:").partition("#")
        if os.path.isfile(path):
            (folder / (name or os.path.basename(path))).symlink_to(path)
    return folder
