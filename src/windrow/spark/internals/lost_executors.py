"""Whether a batch failed because a part of the cluster went away under it: no fault of the job, which does the batch again."""

from __future__ import annotations

import re

from windrow.errors import OutageError

LOST = "WR855"
# Each with what is told of it. A task fails four times before Spark gives a stage up, so the text is that of the last time.
_SIGNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"ExecutorLostFailure \(executor (\S+) .*?\) Reason: ([^\n]+)"), "executor {0} was lost: {1}"),
    (re.compile(r"ExecutorLostFailure"), "an executor was lost"),
    (re.compile(r"(?:FetchFailed|MetadataFetchFailed)\w*\b"), "what an executor had computed went away with it"),
    (re.compile(r"TaskResultLost|result lost from block manager"), "the result of a task went away with its executor"),
    (re.compile(r"Could not find CoarseGrainedScheduler|Executor heartbeat timed out"), "an executor gave no sign of life"),
    (
        re.compile(r"(?:Block|Remote)\w*FetchException|Failed to get broadcast_|Failed to get block "),
        "an executor did not reach another machine",
    ),
    (
        re.compile(r"java\.io\.IOException: (Failed to connect to \S+|Connection from \S+ closed)"),
        "an executor did not reach another machine: {0}",
    ),
    (re.compile(r"Cannot receive any reply from \S+ in [\d.]+ \w+"), "a machine of the cluster did not answer in time"),
)
_MOST_CAUSES = 20


def lost_executor(error: BaseException) -> str | None:
    """What went away, in a clause; None where the failure is another one.

    >>> lost_executor(RuntimeError("Job aborted: ExecutorLostFailure (executor 2 exited caused by one) Reason: worker lost\\nDriver"))
    'executor 2 was lost: worker lost'
    >>> lost_executor(RuntimeError("Job aborted due to stage failure: java.lang.ArithmeticException"))
    """
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return None
        text = str(cause)
        for sign, told in _SIGNS:
            if (found := sign.search(text)) is not None:
                return told.format(*(" ".join(group.split())[:200] for group in found.groups()))
        cause = cause.__cause__
    return None


def refuse_if_lost(error: Exception) -> None:
    """Raise what a caller may wait for, where a question to the executors failed because one of them went away."""
    if (lost := lost_executor(error)) is not None:
        hint = "see that workers are there, then run again: nothing is lost"
        raise OutageError(LOST, f"{lost}, while the executors were asked what they have", hint) from error
