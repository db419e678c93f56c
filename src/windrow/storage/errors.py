"""What storage fails with: always an error with a code, the path and a hint, whatever the file system reported it as."""

from __future__ import annotations

import errno
import os

from windrow.errors import JobError

CANNOT_WRITE, CANNOT_READ, NOT_ATOMIC = "WR802", "WR816", "WR810"

_WRITE_HINT = "free some space or mend the folder, then run again"
_READ_HINT = "check that the file system answers and that this user may read there, then run again"


class StorageError(JobError):
    """A file could not be read or written. What was durable before is still there.

    ``number`` is the system's error number (``errno``), and ``reason`` what the file system said, on one line.
    """

    def __init__(self, code: str, message: str, hint: str | None = None, *, number: int = errno.EIO, reason: str = "") -> None:
        super().__init__(code, message, hint)
        self.number = number
        self.reason = reason or message


def write_error(path: str, reason: str, number: int = errno.EIO) -> StorageError:
    return StorageError(CANNOT_WRITE, f"cannot write {path}: {reason}", _WRITE_HINT, number=number, reason=reason)


def read_error(path: str, reason: str, number: int = errno.EIO) -> StorageError:
    return StorageError(CANNOT_READ, f"cannot read {path}: {reason}", _READ_HINT, number=number, reason=reason)


def not_atomic(path: str, what: str, hint: str) -> StorageError:
    return StorageError(NOT_ATOMIC, f"the file system of {path} cannot {what}", hint, number=errno.ENOTSUP)


def reason_of(error: OSError) -> str:
    """
    >>> reason_of(FileNotFoundError(2, "No such file or directory", "x"))
    'No such file or directory'
    """
    return error.strerror or (os.strerror(error.errno) if error.errno else str(error))
