"""The text of a version, compiled as its process will compile it: with its ``windrow.yaml``, its files, its environment and the flags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from windrow.catalog.python_functions import nothing_imported
from windrow.compiler import Compiled, compile_sql
from windrow.config import Environment, compile_file, resolve
from windrow.config.finding import FILE_NAME
from windrow.config.reading import Project, read_project
from windrow.errors import Diagnostic, SqlError, UsageError
from windrow.model.place import SourceText
from windrow.server.registry import Version, deployment_name
from windrow.server.secrets import stand_ins

# In the folder of every version: no file above it may have a say in what runs.
NO_PROJECT = "# no windrow.yaml came with this text\n"
MOST_FILES, MOST_BYTES = 200, 1_000_000
BAD_PROJECT, NOT_LOOKED_AT = "WR935", "WR951"
_PATH = re.compile(r"(?!.*(^|/)\.)[A-Za-z0-9_ ./=+@,-]{1,200}")
# What a server keeps in the folder of a job itself.
_TAKEN = frozenset({"versions", "state", "logs", "job.sock", "process.lock", "deployment.json", "process.json", "exit.json"})
Files = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Text:
    """What somebody wants to deploy: SQL, the ``windrow.yaml`` and the files that belong to it, and the environment in which it runs.

    Files are named by their paths from the folder of ``windrow.yaml``: SQL that it includes, Python functions, small tables.
    """

    name: str
    sql: str
    project: str = ""
    env: str = ""
    files: Files = ()

    @property
    def deployment(self) -> str:
        return deployment_name(self.name, self.env)

    @staticmethod
    def of(version: Version, env: str) -> Text:
        return Text(version.pipeline, version.sql, version.project, env, read_files(version.files))

    @property
    def sql_texts(self) -> list[str]:
        """All of its SQL, and its ``windrow.yaml``."""
        return [self.sql, self.project, *(text for path, text in self.files if path.endswith(".sql"))]


def read_files(text: str) -> Files:
    """
    >>> read_files('{"b.sql": "SELECT 1", "a.csv": ""}')
    (('a.csv', ''), ('b.sql', 'SELECT 1'))
    """
    return tuple(sorted(json.loads(text or "{}").items()))


def write_files(files: Files) -> str:
    return json.dumps(dict(files)) if files else ""


def check_files(files: Files, name: str) -> None:
    """Refuses paths that lead elsewhere, and more than a text needs."""
    for path, _ in files:
        parts = path.split("/")
        is_odd = _PATH.fullmatch(path) is None or path.startswith("/") or any(part in ("", "..") for part in parts)
        if is_odd or parts[0] in _TAKEN or path in (FILE_NAME, f"{name}.sql", "version.json"):
            hint = "a path from the folder of windrow.yaml: data/prices.csv"
            raise UsageError(BAD_PROJECT, f'"{path}" cannot be the path of a file', hint)
    size = sum(len(text.encode()) for _, text in files)
    if len(files) > MOST_FILES or size > MOST_BYTES:
        there = f"{len(files)} files with {size:,} bytes"
        hint = "put what is larger where jobs can read it, and name its place with a whole path"
        raise UsageError(BAD_PROJECT, f"{there} are too many: {MOST_FILES} and {MOST_BYTES:,} go with a text", hint)


def write_texts(folder: Path, text: Text) -> Path:
    """A text with all that belongs to it, as files; gives that of the SQL."""
    for path, content in (*text.files, (FILE_NAME, text.project or NO_PROJECT), (f"{text.name}.sql", text.sql)):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content, encoding="utf-8")
    return folder / f"{text.name}.sql"


def project_of(text: Text, folder: Path = Path()) -> Project:
    return read_project(SourceText(text.project or NO_PROJECT, FILE_NAME), folder)


def environment_of(text: Text, values: Mapping[str, str], folder: Path = Path()) -> Environment:
    """``values`` are what ``${NAME}`` stands for."""
    return resolve(project_of(text, folder), text.env or None, values)


def compile_text(text: Text, values: Mapping[str, str]) -> Compiled:
    """Raises SqlError with every diagnostic. Python functions are judged by the process of the job."""
    with nothing_imported():
        if not text.files and not text.project:
            return compile_sql(text.sql, f"{text.name}.sql", values)
        with _laid_out(text) as path:
            return _compile(text, str(path), values, path.parent)


def compile_saved(text: Text, sql: str, values: Mapping[str, str]) -> Compiled:
    """SQL that a state was made by, as the environment of a text has it. What it included is in it."""
    with nothing_imported(), _laid_out(text) as path:
        environment = environment_of(text, values, path.parent)
        own = replace(environment, project=replace(environment.project, lists={**environment.project.lists, "include": ()}))
        return compile_file(sql, str(path), own, values)


def _compile(text: Text, file: str, values: Mapping[str, str], folder: Path) -> Compiled:
    if not text.project:
        return compile_sql(text.sql, file, values)
    environment = environment_of(text, values, folder)
    missing = [pattern for pattern in environment.project.lists.get("include", ()) if not any(folder.glob(pattern))]
    if missing:
        hint = "windrow deploy sends it along; in a request, it is one of the files"
        raise UsageError(BAD_PROJECT, f"{FILE_NAME} includes {missing[0]}, which did not come with it", hint)
    return compile_file(text.sql, file, environment, values)


@contextmanager
def _laid_out(text: Text) -> Iterator[Path]:
    with TemporaryDirectory(prefix="windrow-text-") as folder:
        yield write_texts(Path(folder).resolve(), text)


def look_at(text: Text, known: Mapping[str, str]) -> Compiled:
    """Compiled for somebody who may not run code here: no name has its value from the environment."""
    own = {value.path[-1] for layer in project_of(text).layers.values() for value in layer.values if value.path[0] == "variables"}
    values = {name: value for name, value in stand_ins(text.sql_texts, known).items() if name in known or name not in own}
    try:
        return compile_text(text, values)
    except SqlError as error:
        raise SqlError(tuple(_without_value(one, error.source) for one in error.diagnostics), error.source) from None


def _without_value(found: Diagnostic, source: SourceText) -> Diagnostic:
    """What is said of a place that has no value here, said so."""
    said = found.span is not None and re.match(r"'?\$\{(\w+)\}", source.text[found.span.start :])
    if not said:
        return found
    told = f"{said[1]} has its value from the environment of the server, which is not looked at for this token"
    hint = f"give a default: ${{{said[1]}:-value}}; or ask with a token that may deploy"
    return replace(found, code=NOT_LOOKED_AT, message=told, hint=hint)


def data_files(files: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """What a job reads by its path, from where it works; SQL and Python stay with their version."""
    return ((path, content) for path, content in files if not path.endswith((".sql", ".py")))
