"""Where the state of jobs is kept: a folder for all jobs of a file, with a folder for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import UsageError
from windrow.storage import Folder, StorageError, folder_name, open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def state_folder(state: str | Path | Folder, spark: SparkSession | None = None, settings: Mapping[str, str] | None = None) -> Folder:
    """The folder of all jobs, as ``--state`` names it; nothing is made.

    Without a session, a folder that is not local is reached through a JVM of its own, with Spark's ``settings``.
    """
    return state if isinstance(state, Folder) else open_folder(state, spark, settings)


def job_folder(state: str | Path, job: str, spark: SparkSession | None = None) -> Folder:
    return state_folder(state, spark).child(folder_name(job))


def prepared(folder: Folder) -> Folder:
    """A folder that can be written, or the user's error: found before anything has begun."""
    try:
        folder.prepare()
    except StorageError as error:
        message = f"cannot write to the folder {folder.path}: {error.reason}"
        raise UsageError("WR801", message, "choose another one with --state DIR") from error
    return folder
