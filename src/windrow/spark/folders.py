"""A folder of small files that are written whole or not at all, on a local disk or on any file system Hadoop knows."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlparse

from windrow.errors import JobError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Folder(Protocol):
    path: str

    def names(self) -> list[str]: ...
    def read(self, name: str) -> bytes: ...
    def write(self, name: str, data: bytes) -> None:
        """Durable and atomic: a reader sees the old file or the new one."""

    def remove(self, name: str) -> None: ...
    def child(self, name: str) -> Folder: ...


def open_folder(spark: SparkSession | None, path: str) -> Folder:
    """The folder at a path or URI, made if it is not there, and proven to be writable."""
    scheme = urlparse(path).scheme
    if scheme in ("", "file") or len(scheme) == 1:
        return LocalFolder(Path(urlparse(path).path if scheme == "file" else path).absolute())
    assert spark is not None
    return HadoopFolder(spark, path)


class LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path, prefix=".probe-"):
                pass
        except OSError as error:
            raise UsageError(
                "WR801", f"cannot write to the folder {path}: {error.strerror}", "choose another one with --state DIR"
            ) from error

    def names(self) -> list[str]:
        return sorted(entry.name for entry in self._path.iterdir() if entry.is_file() and not entry.name.startswith("."))

    def read(self, name: str) -> bytes:
        return (self._path / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        temporary = self._path / f".{name}.tmp"
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path / name)
            self._sync_folder()
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise JobError(
                "WR802", f"cannot write {self._path / name}: {error.strerror}", "free some space or mend the folder, then run again"
            ) from error

    def _sync_folder(self) -> None:
        """A rename is durable only once the folder itself is."""
        handle = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def remove(self, name: str) -> None:
        (self._path / name).unlink(missing_ok=True)

    def child(self, name: str) -> LocalFolder:
        return LocalFolder(self._path / name)


class HadoopFolder:
    """Through the JVM's own FileSystem, so that whatever Spark can write, state can live on."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path
        self._spark = spark
        jvm: Any = spark.sparkContext._jvm
        self._jvm = jvm
        self._root = jvm.org.apache.hadoop.fs.Path(path)
        try:
            self._fs = self._root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
            self._fs.mkdirs(self._root)
        except Exception as error:
            raise UsageError(
                "WR801", f"cannot write to the folder {path}: {_first_line(error)}", "choose another one with --state DIR"
            ) from error

    def names(self) -> list[str]:
        return sorted(status.getPath().getName() for status in self._fs.listStatus(self._root) if status.isFile())

    def read(self, name: str) -> bytes:
        stream = self._fs.open(self._at(name))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        temporary, target = self._at(f".{name}.tmp"), self._at(name)
        try:
            stream = self._fs.create(temporary, True)
            stream.write(bytearray(data))
            stream.hsync()
            stream.close()
            if self._fs.exists(target):
                self._fs.delete(target, False)
            self._fs.rename(temporary, target)
        except Exception as error:
            raise JobError("WR802", f"cannot write {self.path}/{name}: {_first_line(error)}", "mend the folder, then run again") from error

    def remove(self, name: str) -> None:
        self._fs.delete(self._at(name), False)

    def child(self, name: str) -> HadoopFolder:
        return HadoopFolder(self._spark, f"{self.path.rstrip('/')}/{name}")

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)


def folder_name(job: str) -> str:
    """A job's name as a folder: readable, and never two jobs in one."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", job)[:60]
    return plain if plain == job else f"{plain}-{hashlib.sha256(job.encode()).hexdigest()[:8]}"


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
