"""``windrow submit``: the driver itself runs on the cluster, with the file, its project and its Python in archives."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Image, Pack, Settings, State

if TYPE_CHECKING:
    from windrow.cli.sending import Parcel

_FOLDER = "windrow-job"
_MAIN = "import sys\nfrom windrow.cli.main import main\nsys.argv[0] = 'windrow'\nmain()\n"
_UPLOADS = "spark.kubernetes.file.upload.path"


def submit(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A SQL file.", show_default=False)],
    master: Annotated[str, typer.Option("--master", help="yarn, or k8s://...", metavar="URL", show_default=False)],
    env: Env = None,
    once: Annotated[bool, typer.Option("--once", help="As for run.")] = False,
    until_end: Annotated[bool, typer.Option("--until-end", help="As for run.")] = False,
    state: State = None,
    pack: Pack = None,
    image: Image = None,
    settings: Settings = None,
    is_shown: Annotated[bool, typer.Option("--show", help="Print the command of Spark's that would be run, and run nothing.")] = False,
) -> None:
    """Run a file on a cluster with its driver there, too, by spark-submit: YARN and Kubernetes. It waits unless Spark is told not to."""
    from windrow.cli.files import stem
    from windrow.cli.project import chosen_for, compile_chosen
    from windrow.cli.sending import parcel_of
    from windrow.cli.set_options import read_settings
    from windrow.jobs.jar_needs import with_needed_jars
    from windrow.jobs.options import IMAGE, PACK, session_settings
    from windrow.settings import load_settings

    _refuse_master(master)
    chosen = chosen_for(file, env)
    place = chosen.state(state, load_settings(), stem(file))
    own = {**chosen.settings, **read_settings(settings or [])}
    pack, image = pack or own.pop(PACK, None), image or own.pop(IMAGE, None)
    _refuse_state(place, own)
    # Whatever is wrong with the file is said here, and not in the log of a machine far away.
    plan = compile_chosen(file, chosen).plan
    sparks = with_needed_jars(session_settings(own), master, plan.jobs, [place])
    _refuse_python(master, pack, image, sparks)
    parcel, name = parcel_of(file), Path(file).name
    words = ["run", f"{_FOLDER}/{name}", "--master", master, "--state", place, "--quiet"]
    words += [*(["--env", env] if env else []), *(["--once"] if once else []), *(["--until-end"] if until_end else [])]
    words += [word for key, value in own.items() for word in ("--set", f"{key}={value}")]
    with tempfile.TemporaryDirectory(prefix="windrow-submit-") as folder:
        archive = _written(Path(folder), parcel, name)
        command = _command(master, archive, pack, image, sparks, Path(folder, "windrow_main.py"), stem(file)) + words
        if is_shown:
            print(shlex.join(command))
            return
        done = subprocess.run(command, check=False)
    if done.returncode != 0:
        raise typer.Exit(1)


def _refuse_master(master: str) -> None:
    from windrow.errors import UsageError

    if master.startswith("spark://"):
        hint = f"keep the driver running somewhere that workers reach: windrow run FILE --master {master}, or windrow serve"
        raise UsageError(codes.NOT_SUBMITTED, "Spark's standalone master takes no Python program in cluster mode", hint)
    if master != "yarn" and not master.startswith("k8s://"):
        hint = "--master yarn or --master k8s://https://...; windrow run FILE runs it with the driver here"
        raise UsageError(codes.NOT_SUBMITTED, f"there is no cluster at {master} that takes a driver", hint)


def _refuse_state(place: str, settings: Mapping[str, str]) -> None:
    from windrow.errors import UsageError
    from windrow.storage import is_local

    if is_local(place, settings=settings):
        told = f"the state in {place} would be lost with the machine that the driver happens to run on"
        raise UsageError(codes.NOT_SUBMITTED, told, "--state hdfs://..., s3a://..., or a path where fs.defaultFS is one of these")


def _refuse_python(master: str, pack: str | None, image: str | None, settings: Mapping[str, str]) -> None:
    from windrow.errors import UsageError
    from windrow.packing import read_pack

    if image is not None and not master.startswith("k8s://"):
        raise UsageError(codes.NOT_SUBMITTED, f"--image is for Kubernetes, and the master is {master}", "--pack $(windrow pack)")
    if pack is None and image is None:
        hint = "--pack $(windrow pack)" + (", or --image with one that has Windrow" if master.startswith("k8s://") else "")
        raise UsageError(codes.NOT_SUBMITTED, "the driver on the cluster needs a Python with Windrow, and none is named", hint)
    if pack is not None and "://" not in pack:
        read_pack(Path(pack))
    if master.startswith("k8s://") and _UPLOADS not in settings:
        hint = f"--set {_UPLOADS}=s3a://bucket/uploads: a folder that this machine and the pods reach"
        raise UsageError(codes.NOT_SUBMITTED, "Kubernetes takes files of this machine by way of a store, and none is named", hint)


def _written(folder: Path, parcel: Parcel, name: str) -> Path:
    """The file and what it needs beside it, as an archive, and the program that runs it."""
    content = folder / _FOLDER
    texts = {name: parcel.sql, **parcel.files, **({"windrow.yaml": parcel.project} if parcel.project else {})}
    for path, text in texts.items():
        target = content / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    (folder / "windrow_main.py").write_text(_MAIN, encoding="utf-8")
    return Path(shutil.make_archive(str(content), "zip", content))


def _command(
    master: str, archive: Path, pack: str | None, image: str | None, settings: Mapping[str, str], main: Path, name: str
) -> list[str]:
    from windrow.jobs.options import SPARK
    from windrow.packing import FOLDER, PYTHON
    from windrow.spark.shipping import spark_submit

    archives = [f"{archive}#{_FOLDER}", *([f"{pack}#{FOLDER}"] if pack else [])]
    python = PYTHON if pack else "python3"
    conf = {key: value for key, value in settings.items() if key.startswith(SPARK)}
    conf |= {"spark.pyspark.python": python, "spark.pyspark.driver.python": python}
    conf |= {f"spark.{where}.PYSPARK_PYTHON": python for where in ("yarn.appMasterEnv", "kubernetes.driverEnv", "executorEnv")}
    if image:
        conf["spark.kubernetes.container.image"] = image
    parts = [spark_submit(), "--master", master, "--deploy-mode", "cluster", "--name", f"windrow {name}", "--archives", ",".join(archives)]
    return [*parts, *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")), str(main)]
