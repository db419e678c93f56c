"""Folders on any file system that Hadoop knows, through a JVM: HDFS, S3, Azure, Google, and what a cluster adds."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from windrow.storage import s3_files, web_hdfs
from windrow.storage.errors import StorageError, not_atomic, read_error, write_error
from windrow.storage.files import Files, NotForWorkers
from windrow.storage.filesystem import FileStatus, Folder, temporary_name
from windrow.storage.jvm import Hadoop

# What is written to these appears when the stream is closed, whole, in the place of what was there; a rename copies. Elsewhere a file
# grows as it is written, and a rename is one step.
WHOLE_ON_CLOSE = frozenset({"s3a", "s3", "s3n", "gs", "oss", "cosn", "obs"})
# These cannot promise that of two who create a file one is refused, unless they say that they can.
_NEEDS_CONDITION = frozenset({"s3a", "s3", "s3n", "oss", "cosn", "obs"})
CONDITIONAL_CREATE = "fs.option.create.conditional.overwrite"

_CHUNK = 4 << 20
_READS = 20


class HadoopFolder(Folder):
    is_local = False

    def __init__(self, hadoop: Hadoop, address: str) -> None:
        """``address`` has a scheme."""
        self.path = address.rstrip("/")
        self._hadoop = hadoop
        self._scheme = address.partition(":")[0].lower()
        with self._reading(""):
            self._fs: Any = hadoop.filesystem(address)

    def uri(self, name: str = "") -> str:
        return f"{self.path}/{name}" if name else self.path

    def child(self, name: str) -> HadoopFolder:
        return HadoopFolder(self._hadoop, self.uri(name))

    def _at(self, name: str) -> Any:
        return self._hadoop.path(self.uri(name) if name else self.path + "/")

    def make(self, name: str = "") -> None:
        with self._writing(name):
            if not self._fs.mkdirs(self._at(name)):
                raise write_error(self.uri(name), "the file system did not make the folder")

    def exists(self, name: str) -> bool:
        with self._reading(name):
            return bool(self._fs.exists(self._at(name)))

    def entries(self, name: str = "") -> list[str]:
        return sorted(str(status.getPath().getName()) for status in self._listed(name))

    def names(self) -> list[str]:
        found = (str(status.getPath().getName()) for status in self._listed("") if status.isFile())
        return sorted(name for name in found if not name.startswith("."))

    def _listed(self, name: str) -> list[Any]:
        try:
            with self._reading(name):
                return list(self._fs.listStatus(self._at(name)))
        except StorageError as error:
            if error.number == errno.ENOENT:
                return []
            raise

    def status(self, name: str) -> FileStatus:
        with self._reading(name):
            found = self._fs.getFileStatus(self._at(name))
            return FileStatus(int(found.getLen()), int(found.getModificationTime()) / 1000)

    def read(self, name: str) -> bytes:
        """All of one version. An object store refuses to go on with a file that was replaced after it was opened: then it is read anew."""
        for _ in range(_READS):
            try:
                return self._read_once(name)
            except StorageError as error:
                if not is_replaced_meanwhile(error.reason):
                    raise
        return self._read_once(name)

    def _read_once(self, name: str) -> bytes:
        with self._reading(name):
            stream = self._fs.open(self._at(name))
            try:
                parts = []
                while part := bytes(stream.readNBytes(_CHUNK)):
                    parts.append(part)
                return b"".join(parts)
            finally:
                stream.close()

    def replace_atomically(self, name: str, data: bytes, *, durable: bool = True) -> None:
        if self._scheme in WHOLE_ON_CLOSE:
            with self._writing(name):
                self._fill(self._fs.create(self._at(name), True), data, durable=durable)
            return
        temporary = temporary_name(name)
        with self._writing(name):
            try:
                self._fill(self._fs.create(self._at(temporary), True), data, durable=durable)
                self._rename(temporary, name)
            except Exception:
                # The target is as it was; what failed is told, not what failed in tidying up after it.
                with suppress(Exception):
                    self._fs.delete(self._at(temporary), False)
                raise

    def create_exclusively(self, name: str, data: bytes) -> bool:
        """Where the answer got lost on its way, the file tells whose it is: ``data`` must be the caller's alone."""
        with self._writing(name):
            try:
                self._fill(self._create_exclusively(name), data)
                return True
            except StorageError:
                raise
            except Exception:
                if not self._fs.exists(self._at(name)):
                    raise
        return self.read(name) == data

    def _create_exclusively(self, name: str) -> Any:
        path = self._at(name)
        if self._fs.hasPathCapability(path, CONDITIONAL_CREATE):
            return self._fs.createFile(path).must(CONDITIONAL_CREATE, True).build()
        if self._scheme in _NEEDS_CONDITION:
            hint = "use s3a:// of Hadoop 3.4.2 or newer with fs.s3a.create.conditional.enabled, or a folder on HDFS or on a shared disk"
            raise not_atomic(self.path, "refuse the second of two drivers that create a file", hint)
        return self._fs.create(path, False)

    def write_new(self, name: str, data: bytes) -> None:
        with self._writing(name):
            self._fill(self._fs.create(self._at(name), True), data)

    def make_durable(self, name: str = "") -> None:
        """Whoever closed the file did so: that is what these file systems promise, for renames as well."""

    def move(self, source: str, target: str) -> None:
        if self._scheme in WHOLE_ON_CLOSE and self.exists(target):
            # A rename would have to delete the target first.
            self.replace_atomically(target, self.read(source))
            self.remove(source)
            return
        with self._writing(target):
            self._rename(source, target)

    def remove(self, name: str) -> None:
        with self._writing(name):
            path = self._at(name)
            if not self._fs.delete(path, True) and self._fs.exists(path):
                raise write_error(self.uri(name), "the file system did not remove it")

    def for_workers(self) -> Files | NotForWorkers:
        if self._scheme in s3_files.SCHEMES:
            return s3_files.s3_files(self._hadoop, self.path)
        if self._scheme in web_hdfs.SCHEMES:
            return web_hdfs.web_hdfs_files(self._hadoop, self.path)
        return NotForWorkers(f"workers write to shared disks, hdfs:// and s3a://, and not to {self._scheme}://")

    def _fill(self, stream: Any, data: bytes, *, durable: bool = True) -> None:
        """Write and close. A stream that failed is closed as well, but what failed first is what is told."""
        try:
            for start in range(0, len(data), _CHUNK):
                stream.write(bytearray(data[start : start + _CHUNK]))
            # Where a stream knows no hsync, a file is durable once it is closed.
            if durable and stream.hasCapability("hsync"):
                stream.hsync()
        except Exception:
            with suppress(Exception):
                self._give_up(stream)
            raise
        stream.close()

    def _give_up(self, stream: Any) -> None:
        """Let go of a stream without what it was given becoming visible."""
        if stream.hasCapability("fs.capability.outputstream.abortable"):
            stream.abort()
        elif self._scheme in WHOLE_ON_CLOSE:
            # Closing it would put half a file in the place of the whole one.
            return
        stream.close()

    def _rename(self, source: str, target: str) -> None:
        """``FileContext`` replaces in one step and throws where it cannot; ``FileSystem.rename`` only answers false."""
        context = None if self._scheme in WHOLE_ON_CLOSE else self._hadoop.context(self.path)
        if context is not None:
            context.rename(self._at(source), self._at(target), self._hadoop.overwriting())
            return
        if self._fs.exists(self._at(target)):
            raise not_atomic(self.path, f"put a file in the place of {target} in one step", "use a folder on HDFS or on a shared disk")
        if not self._fs.rename(self._at(source), self._at(target)):
            raise write_error(self.uri(target), f"the file system refused to rename {source}")

    @contextmanager
    def _writing(self, name: str) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except Exception as error:
            reason = java_reason(error)
            raise write_error(self.uri(name), reason, java_error_number(reason)) from error

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except Exception as error:
            reason = java_reason(error)
            raise read_error(self.uri(name), reason, java_error_number(reason)) from error


# What Java says where C has an error number. Read off the text, because Hadoop's exceptions carry nothing else.
_JAVA_TEXTS = (
    ("No space left on device", errno.ENOSPC),
    ("quota", errno.EDQUOT),
    ("QuotaExceeded", errno.EDQUOT),
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
    """
    >>> java_error_number("java.io.FileNotFoundException: File /a does not exist.") == errno.ENOENT
    True
    """
    return next((number for part, number in _JAVA_TEXTS if part in text), errno.EIO)


# HTTP 412 of a GET that names the version it began with, as the AWS SDK and as S3A put it.
_REPLACED_TEXTS = ("pre-conditions you specified did not hold", "Status Code: 412", "RemoteFileChangedException")


def is_replaced_meanwhile(text: str) -> bool:
    """
    >>> is_replaced_meanwhile("org.apache.hadoop.fs.s3a.RemoteFileChangedException: open `s3a://b/a`: Change reported by S3")
    True
    """
    return any(part in text for part in _REPLACED_TEXTS)


def java_reason(error: Exception) -> str:
    """What a Java exception says, class and message on one line, without its stack."""
    thrown = getattr(error, "java_exception", None)
    if thrown is None:
        return " ".join(str(error).split())[:300] or type(error).__name__
    try:
        text = str(thrown.toString())
    except Exception:  # The JVM is gone, and with it what it had to say.
        text = str(error)
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    return " ".join(" ".join(lines).split())[:300]
