"""The text of a version, compiled as its process will compile it: with its ``windrow.yaml``, its environment and the flags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from windrow.compiler import Compiled, compile_sql
from windrow.config import Environment, compile_file, resolve
from windrow.config.finding import FILE_NAME
from windrow.config.reading import Project, read_project
from windrow.errors import UsageError
from windrow.model.place import SourceText
from windrow.settings import environment

# In the folder of every version: no file above it may have a say in what runs.
NO_PROJECT = "# no windrow.yaml came with this text\n"


def project_of(text: str, folder: Path) -> Project:
    """The ``windrow.yaml`` that came with a text. One that includes other files is refused: they did not come with it."""
    found = read_project(SourceText(text or NO_PROJECT, FILE_NAME), folder)
    if found.lists.get("include"):
        raise UsageError(
            "WR935",
            f"{FILE_NAME} includes other files, which a server does not have",
            "put what is included into the file itself, and leave include out",
        )
    return found


def environment_of(project: str, env: str, folder: Path, variables: Mapping[str, str]) -> Environment:
    return resolve(project_of(project, folder), env or None, {**environment(), **variables})


def compile_text(
    sql: str, name: str, project: str = "", env: str = "", folder: Path | None = None, variables: Mapping[str, str] | None = None
) -> Compiled:
    """Raises SqlError with every diagnostic. ``folder`` is that of the version, where there is one."""
    values = {**environment(), **(variables or {})}
    if not project:
        return compile_sql(sql, f"{name}.sql", values)
    return compile_file(sql, f"{name}.sql", environment_of(project, env, folder or Path(), variables or {}), values)
