"""From what the command line names to the project, the environment and the compiled file. Starts no Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.compiler import Compiled
    from windrow.config import Environment
    from windrow.settings import Settings


@dataclass(frozen=True)
class Chosen:
    """What holds for a file: an environment, or None where there is no windrow.yaml."""

    environment: Environment | None

    @property
    def name(self) -> str:
        return "" if self.environment is None else self.environment.name

    def value(self, *path: str) -> str | None:
        return None if self.environment is None else self.environment.get(*path)

    @property
    def settings(self) -> dict[str, str]:
        return {} if self.environment is None else self.environment.settings

    def master(self, given: str | None, defaults: Settings) -> str:
        """The command line goes before the process, which goes before the file."""
        return given or defaults.master or self.value("master") or defaults.default_master

    def state(self, given: str | None, defaults: Settings, name: str) -> str:
        """The folder of a file's state: below the root, each environment has its own."""
        root = defaults.given_state or self.value("state", "root") or defaults.state
        return given or "/".join(part for part in (root.rstrip("/"), self.name, name) if part)

    @property
    def line(self) -> str:
        """What a run says about it."""
        if self.environment is None:
            return ""
        file = self.environment.project.source.name
        return f"environment {self.name} of {file}" if self.name else f"{file}, no environment"


def chosen_for(file: str, env: str | None) -> Chosen:
    """The environment for a file or folder; asked for and not there is an error."""
    from windrow.config import FILE_NAME, find_project, resolve
    from windrow.config.codes import NO_PROJECT
    from windrow.errors import UsageError
    from windrow.settings import environment, load_settings

    project = find_project(file)
    name = load_settings().env if env is None else env
    if project is None:
        if env:
            hint = f"write {FILE_NAME} with: environments: {{{env}: {{...}}}}; or windrow init"
            raise UsageError(NO_PROJECT, f"there is no {FILE_NAME} beside {file} or above it", hint)
        return Chosen(None)
    return Chosen(resolve(project, name, environment()))


def is_project(file: str) -> bool:
    from windrow.config import FILE_NAME

    return Path(file, FILE_NAME).is_file()


@contextmanager
def working_in(file: str) -> Iterator[str | None]:
    """A project that is named by its folder runs there: relative paths mean the same from everywhere. None for a file."""
    if not is_project(file):
        yield None
        return
    with chdir(file):
        yield "."


def files_of(chosen: Chosen, what: str = "files") -> list[Path]:
    """The SQL files or the cases of a project, as paths from here."""
    from windrow.config.codes import NO_FILES
    from windrow.config.finding import shown
    from windrow.errors import UsageError

    assert chosen.environment is not None, "a folder with windrow.yaml has one"
    project = chosen.environment.project
    found = project.sql_files if what == "files" else project.matching(what)
    if not found:
        patterns = ", ".join(project.lists[what]) or "nothing"
        raise UsageError(NO_FILES, f"{project.source.name}: no file matches {what}: {patterns}", f"{what}: [queries/*.sql]")
    return [Path(shown(path)) for path in found]


def expanded(files: list[str], env: str | None = None) -> list[str]:
    """The SQL files that are meant: a project that is named by its folder stands for all of its files."""
    found: list[str] = []
    for file in files:
        found += map(str, files_of(chosen_for(file, env))) if is_project(file) else [file]
    return found


def compile_chosen(file: str, chosen: Chosen, text: str | None = None) -> Compiled:
    """A file as its environment has it; ``text`` is another version of it."""
    from windrow.cli.files import read_sql, shown_name
    from windrow.compiler import compile_sql
    from windrow.settings import environment

    text = read_sql(file) if text is None else text
    if chosen.environment is None:
        return compile_sql(text, shown_name(file), environment())
    from windrow.config import compile_file

    return compile_file(text, shown_name(file), chosen.environment, environment())
