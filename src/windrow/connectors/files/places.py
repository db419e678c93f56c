"""A folder on some file system: local disks through the os, everything else through Spark's Hadoop file systems."""

from __future__ import annotations

import errno
import os
import re
import shutil
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_CHUNK = 4 << 20


class Folder(Protocol):
    """The few operations a sink needs. Names are relative to the folder, ``/`` between parts; all fail with OSError."""

    def uri(self, name: str = "") -> str:
        """The full address, as Spark and a reader want it."""

    def make(self, name: str = "") -> None: ...

    def exists(self, name: str) -> bool: ...

    def list(self, name: str = "") -> list[str]:
        """Names in a folder, sorted; nothing where the folder does not exist."""

    def size(self, name: str) -> int: ...

    def read(self, name: str) -> bytes: ...

    def write(self, name: str, data: bytes) -> None:
        """A file that is durable when this returns, replacing what was there."""

    def settle(self, name: str) -> None:
        """Make a file that somebody else wrote durable."""

    def move(self, source: str, target: str) -> None: ...

    def settle_folder(self, name: str = "") -> None:
        """Make the names in a folder durable."""

    def remove(self, name: str) -> None:
        """Remove a file or a whole folder; nothing happens where it does not exist."""


def local_path(path: str) -> str | None:
    """The plain path of a local one (plain or ``file:``), else None.

    >>> local_path("file:///tmp/a"), local_path("s3a://bucket/a")
    ('/tmp/a', None)
    """
    if path.startswith("file:"):
        return "/" + path.removeprefix("file:").lstrip("/")
    if _SCHEME.match(path):
        return None
    return os.path.abspath(os.path.expanduser(path))


def resolve(path: str, spark: SparkSession | None) -> str:
    """A path as Spark should see it: local ones absolute and marked ``file:``, unless the cluster's plain paths are elsewhere."""
    if _SCHEME.match(path) and not path.startswith("file:"):
        return path
    if not path.startswith("file:") and spark is not None:
        default = str(spark._jsc.hadoopConfiguration().get("fs.defaultFS", "file:///"))
        if not default.startswith("file:"):
            return path
    return f"file:{local_path(path)}"


def open_folder(path: str, spark: SparkSession | None) -> Folder:
    resolved = resolve(path, spark)
    if resolved.startswith("file:"):
        return LocalFolder(local_path(resolved) or resolved)
    if spark is None:
        from pyspark.sql import SparkSession as Session

        spark = Session.getActiveSession()
    if spark is None:
        raise OSError(errno.ENODEV, f"{path} is not a local path, and there is no Spark session to reach it with")
    return HadoopFolder(spark, resolved)


class LocalFolder:
    """A folder on a local disk. Everything is forced to the disk before it counts."""

    def __init__(self, root: str) -> None:
        self.root = root

    def _at(self, name: str) -> str:
        return os.path.join(self.root, name) if name else self.root

    def uri(self, name: str = "") -> str:
        return f"file:{self._at(name)}"

    def make(self, name: str = "") -> None:
        os.makedirs(self._at(name), exist_ok=True)

    def exists(self, name: str) -> bool:
        return os.path.lexists(self._at(name))

    def list(self, name: str = "") -> list[str]:
        try:
            return sorted(os.listdir(self._at(name)))
        except FileNotFoundError:
            return []

    def size(self, name: str) -> int:
        return os.path.getsize(self._at(name))

    def read(self, name: str) -> bytes:
        with open(self._at(name), "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes) -> None:
        with open(self._at(name), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def settle(self, name: str) -> None:
        _sync(self._at(name))

    def move(self, source: str, target: str) -> None:
        os.replace(self._at(source), self._at(target))

    def settle_folder(self, name: str = "") -> None:
        _sync(self._at(name))

    def remove(self, name: str) -> None:
        path = self._at(name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path, ignore_errors=False)
        elif os.path.lexists(path):
            os.remove(path)


def _sync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class HadoopFolder:
    """A folder on any file system of Hadoop's, through the driver's JVM."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.root = root.rstrip("/")
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._fs: Any = jvm.org.apache.hadoop.fs.Path(root).getFileSystem(spark._jsc.hadoopConfiguration())

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.uri(name))

    def uri(self, name: str = "") -> str:
        return f"{self.root}/{name}" if name else self.root

    def make(self, name: str = "") -> None:
        with _JavaErrors():
            if not self._fs.mkdirs(self._at(name)):
                raise OSError(errno.EIO, f"cannot create {self.uri(name)}")

    def exists(self, name: str) -> bool:
        with _JavaErrors():
            return bool(self._fs.exists(self._at(name)))

    def list(self, name: str = "") -> list[str]:
        with _JavaErrors():
            if not self._fs.exists(self._at(name)):
                return []
            return sorted(str(status.getPath().getName()) for status in self._fs.listStatus(self._at(name)))

    def size(self, name: str) -> int:
        with _JavaErrors():
            return int(self._fs.getFileStatus(self._at(name)).getLen())

    def read(self, name: str) -> bytes:
        with _JavaErrors():
            stream = self._fs.open(self._at(name))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def write(self, name: str, data: bytes) -> None:
        with _JavaErrors():
            stream = self._fs.create(self._at(name), True)
            try:
                for start in range(0, len(data), _CHUNK):
                    stream.write(bytearray(data[start : start + _CHUNK]))
                # Forces HDFS to disk; object stores make a file durable (and visible) when it is closed.
                stream.hflush() if stream.hasCapability("hsync") is False else stream.hsync()
            finally:
                stream.close()

    def settle(self, name: str) -> None:
        """Spark's committer closed the file, which is what these file systems promise durability for."""

    def move(self, source: str, target: str) -> None:
        with _JavaErrors():
            self._fs.delete(self._at(target), False)
            if not self._fs.rename(self._at(source), self._at(target)):
                raise OSError(errno.EIO, f"cannot rename {self.uri(source)} to {self.uri(target)}")

    def settle_folder(self, name: str = "") -> None:
        """Renames are durable when they return."""

    def remove(self, name: str) -> None:
        with _JavaErrors():
            self._fs.delete(self._at(name), True)


# What Java says where C has an error number. Read off the text, because Hadoop's exceptions carry nothing else.
_JAVA_TEXTS = (
    ("No space left on device", errno.ENOSPC),
    ("quota", errno.EDQUOT),
    ("Read-only file system", errno.EROFS),
    ("Permission denied", errno.EACCES),
    ("AccessControlException", errno.EACCES),
    ("AccessDenied", errno.EACCES),
    ("ParentNotDirectoryException", errno.ENOTDIR),
    ("is not a directory", errno.ENOTDIR),
    ("FileAlreadyExistsException", errno.EEXIST),
    ("FileNotFoundException", errno.ENOENT),
)


def java_error_number(text: str) -> int:
    return next((number for part, number in _JAVA_TEXTS if part in text), errno.EIO)


class _JavaErrors:
    """Turns what the JVM throws into OSError, so that both kinds of folder fail alike."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types

        if isinstance(error, Py4JJavaError):
            text = str(error.java_exception.toString())
            raise OSError(java_error_number(text), text) from error
