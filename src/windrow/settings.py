"""What the environment says: the only reader of it. Every variable starts with WINDROW_; the command line goes first."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from windrow.errors import UsageError

PREFIX = "WINDROW_"


class Settings(BaseSettings):
    """Defaults of a run. ``parallelism`` is the number of cores that a local master takes; all of them where it is not given."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    debug: bool = False
    master: str | None = Field(default=None, min_length=1)
    # Which environment of windrow.yaml, where the command line names none.
    env: str | None = Field(default=None, min_length=1)
    state: str = Field(default=".windrow", min_length=1)
    parallelism: int | None = Field(default=None, ge=1)
    # Where jars are kept; a folder of the user's own where none is given.
    cache: Path | None = None
    # What requests must bring where a job listens on an address that others can reach.
    listen_token: str | None = Field(default=None, repr=False)
    # For the commands that talk to a server.
    token: str | None = Field(default=None, min_length=1, repr=False)
    # What a consumer of lineage asks for.
    lineage_token: str | None = Field(default=None, min_length=1, repr=False)
    # An ivysettings.xml that says where jars are fetched from, in the place of Maven Central.
    ivy_settings: Path | None = None

    @property
    def cache_folder(self) -> Path:
        return self.cache or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "windrow")

    @property
    def given_state(self) -> str | None:
        """Where state lives, if the environment says so itself."""
        return self.state if "state" in self.model_fields_set else None

    @property
    def default_master(self) -> str:
        """
        >>> Settings(master=None, parallelism=2).default_master
        'local[2]'
        """
        return self.master or f"local[{self.parallelism or '*'}]"


def load_settings() -> Settings:
    """The settings as the environment has them now; a value that makes no sense is a UsageError."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        variable = PREFIX + str(first["loc"][0]).upper()
        raise UsageError("WR630", f"{variable} = {first['input']!r}: {first['msg']}", f"unset {variable}") from None


def environment() -> dict[str, str]:
    """The values of ``${VAR}`` placeholders."""
    return dict(os.environ)


def user_folder() -> Path:
    """The user's folder for state, as XDG has it: what was typed in the shell, and the local broker."""
    home = os.environ.get("XDG_STATE_HOME")
    return Path(home if home else Path.home() / ".local" / "state", "windrow")


def is_debug() -> bool:
    """Whether errors show where in Windrow they happened. Never fails, because it is asked when something already has."""
    try:
        return load_settings().debug
    except UsageError:
        return False


def hadoop_folders() -> list[Path]:
    """Where Spark's own start looks for the configuration of a Hadoop cluster."""
    return [Path(folder) for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if (folder := os.environ.get(name))]


def spark_folders() -> list[Path]:
    """Where spark-defaults.conf may stand."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (str(Path(home, "conf")) if home else None)
    return [Path(folder)] if folder else []


def spark_home() -> Path | None:
    """The Spark that is installed beside PySpark's own, where the environment names one."""
    home = os.environ.get("SPARK_HOME")
    return Path(home) if home else None


def spark_defaults() -> frozenset[str]:
    """The settings that the configuration of the installed Spark has: what only fills gaps leaves them alone."""
    found: set[str] = set()
    for folder in spark_folders():
        with suppress(OSError):
            lines = (folder / "spark-defaults.conf").read_text(encoding="utf-8").splitlines()
            found.update(re.split(r"[\s=]", line.strip(), maxsplit=1)[0] for line in lines if line.strip() and not line.startswith("#"))
    return frozenset(found)


def worker_python() -> str | None:
    """The program of Spark's Python workers, where the environment names one."""
    return os.environ.get("PYSPARK_PYTHON") or None


@contextmanager
def starting_with(python: str) -> Iterator[None]:
    """For as long as Spark starts: its workers run this program, and what has no path is looked for beside our own interpreter first.

    Spark takes both from the environment, once. Another session of this process may want others.
    """
    kept = {name: os.environ.get(name) for name in ("PYSPARK_PYTHON", "PATH")}
    os.environ["PYSPARK_PYTHON"] = python
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
