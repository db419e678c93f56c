"""What went wrong with a file, said so that a user can act on it."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Collection, Sequence

from windrow.connectors.reach import REACH_HINT
from windrow.errors import JobError, UsageError, WindrowError
from windrow.spark.internals.java_errors import messages_of
from windrow.storage import StorageError
from windrow.storage.hadoop import java_error_number

_FAILED_FILE = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (.+?)\.(?=\s|$)")
_MISMATCH = re.compile(r"Parquet column \[(.+?)\]\. Expected Spark type (.+?), actual Parquet type (.+?)\.")
_ILLEGAL_TYPE = re.compile(r"(Illegal Parquet type: .+|Unrecognized Parquet type: .+|Parquet type not (?:yet )?supported: .+)")
_PART = re.compile(r"part-(\d+)")
_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
_JAVA_CLASS = re.compile(r"^(?:\w+\.)+\w*(?:Exception|Error)(?:: |$)")
_HEADER = re.compile(r"(CSV header does not conform to the schema|Number of column in CSV header is not equal).*", re.DOTALL)
_TYPE_HINT = "declare the column with the type the file has and CAST it in the query, or move the file away and start the job again"

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_FOLDER = (errno.ENOTDIR, errno.EEXIST, errno.EISDIR)


def explain_failure(error: BaseException) -> WindrowError | None:
    """The failure of a batch as a JobError that names the file, where a file was the cause; else None.

    The engine asks this with whatever a batch raised. Errors that are ours already are given back as they are.
    """
    if isinstance(error, WindrowError) and not isinstance(error, StorageError):
        return error
    messages = messages_of(error)
    text = "\n".join(messages)
    failed = _FAILED_FILE.search(text)
    if failed is None:
        return None
    file = _plain(failed[2])
    cause = _cause(messages)
    if failed[1] == "FILE_NOT_EXIST" and os.path.exists(file) and (place := _HOST.search(text)) is not None:
        return JobError("WR514", f"{file} is there on the driver, and not on {place[1]}, which was to read it", REACH_HINT)
    if mismatch := _MISMATCH.search(text):
        column, declared, actual = mismatch.groups()
        return JobError("WR521", f"column {column} of {file} is {actual} in the file but declared as {declared}", _TYPE_HINT)
    if illegal := _ILLEGAL_TYPE.search(text):
        return JobError("WR521", f"{file} has a column that Spark cannot read: {illegal[1].splitlines()[0]}", _TYPE_HINT)
    if header := _HEADER.search(text):
        shown = " ".join(line.strip() for line in header[0].splitlines()[1:3])
        return JobError(
            "WR522",
            f"the header of {file} is not the one the job started with ({shown})",
            "give all files of the folder the same columns in the same order, or move the file away and start the job again",
        )
    return JobError(
        "WR520",
        f"{file} is torn or unreadable: {cause}",
        "put a whole file in its place, or move it away, and start the job again: no row of this batch has been written",
    )


def open_failure(error: StorageError, path: str) -> UsageError:
    """Why a sink's folder cannot be used, found before the job starts."""
    reason = _reason(error)
    if error.number in _NO_FOLDER:
        return UsageError("WR510", f"{path} is not a folder: {reason}", "name a folder that exists or can be made: 'path' = 'out/rows'")
    if error.number in _DENIED:
        return UsageError("WR511", f"cannot write to {path}: {reason}", "name a folder this user may write to")
    if error.number in _FULL:
        return UsageError("WR512", f"no space left for {path}: {reason}", "free some space, or name a folder on another disk")
    return UsageError("WR513", f"cannot make {path} ready for writing: {reason}", "check the path and that its file system is there")


def write_failure(error: BaseException, path: str, batch_id: int) -> WindrowError:
    """Why a batch could not be written; nothing of it is left behind."""
    explained = explain_failure(error)
    if explained is not None:
        return explained
    messages = messages_of(error)
    number = error.number if isinstance(error, StorageError) else java_error_number("\n".join(messages))
    if number in _FULL:
        return JobError(
            "WR523",
            f"the disk of {path} is full: batch {batch_id} was not written",
            "free some space and start the job again: it goes on with this batch",
        )
    reason = _reason(error) if isinstance(error, StorageError) else _cause(messages)
    return JobError("WR524", f"batch {batch_id} could not be written to {path}: {reason}", "mend the cause and start the job again")


def _cause(messages: list[str]) -> str:
    """The innermost message, on one line, without the class that Java puts before it.

    >>> _cause(["java.io.IOException: outer", "java.io.EOFException: the file ends early"]), _cause(["java.lang.NullPointerException"])
    ('the file ends early', 'no reason given')
    """
    known = [text for message in messages if (text := _JAVA_CLASS.sub("", message))]
    return " ".join((known[-1] if known else "no reason given").split())[:300]


def _reason(error: StorageError) -> str:
    return " ".join(error.reason.split())[:300]


def _plain(uri: str) -> str:
    return re.sub(r"^file:/+", "/", uri)


def refuse_missing(path: str, rows: int, partitions: Collection[int], parts: Sequence[str]) -> None:
    """Whatever the reason: rows that executors say they wrote, and that the driver does not find, are not taken for written.

    ``partitions`` are those that had rows, where that is known; Spark names each file after its own.

    >>> refuse_missing("out", 3, [0, 2], ["frame/part-00000-a.json", "frame/part-00002-a.json"])
    """
    there = {int(found[1]) for part in parts if (found := _PART.search(part)) is not None}
    lost = set(partitions) - there
    if lost or (rows and not parts):
        what = f"{len(lost)} of {len(partitions)} parts of them are missing" if lost else "no part of them is there"
        raise JobError(
            "WR526",
            f"executors wrote {rows:,} rows to {path}, and {what}",
            "all machines must reach the same folder; nothing of this batch counts as written, and it is done again",
        )
