"""What a call into Spark fails with, and what that says: whether rows, the world or our own use of Spark are at fault."""

from __future__ import annotations

import re

# What Java throws where code meets other code than it was made for.
_MISFIT = re.compile(
    r"\b(?:NoSuchMethod|NoSuchField|NoClassDefFound|AbstractMethod|IncompatibleClassChange|Verify|Linkage|Match|Assertion|StackOverflow)Error\b"
    r"|\b(?:ClassNotFound|ClassCast|NullPointer|IllegalArgument|IllegalState|UnsupportedOperation|(?:Array)?IndexOutOfBounds|Compile|"
    r"InternalCompiler|NegativeArraySize|NoSuchElement)Exception\b"
    r"|\[INTERNAL_ERROR"
)
# More than any chain of causes that was seen; one may go in a circle.
_MOST_CAUSES = 20
_OF_A_TASK = "Job aborted due to stage failure"
# What Spark's readers say of a record, with whatever their parsers threw.
_OF_A_ROW = "MALFORMED_RECORD"
_ENDED = ("cancelled because", "was cancelled", "SparkContext was shut down", "stopped SparkContext", "SparkContext has been shutdown")


def spark_errors() -> tuple[type[Exception], ...]:
    """The classes of all that Spark raises: PySpark's own, and those of the bridge to Java."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # ships no types
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException


def java_exception_text(error: BaseException | None) -> str | None:
    """What Java says of an exception that it threw itself; None where it did not."""
    from py4j.protocol import Py4JJavaError

    return str(error.java_exception.toString()) if isinstance(error, Py4JJavaError) else None


def messages_of(error: BaseException) -> list[str]:
    """What an error and everything that caused it say, outermost first, on both sides of the bridge to Java: of Java's, class and message.

    >>> messages_of(ValueError("no number"))
    ['no number']
    """
    # PySpark keeps the Java exception of an error that it translates under a name of its own.
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    found = [] if java is not None else [str(error)]
    while java is not None and len(found) < _MOST_CAUSES:
        found.append(str(java.toString()))
        java = java.getCause()
    cause = error.__cause__ or error.__context__
    return found + (messages_of(cause) if cause is not None else [])


def may_be_misfit(error: Exception) -> bool:
    """Whether another way to the same rows is worth trying.

    Not where a task says that a row is bad or that a system outside does not answer: it would say so again, and perhaps only after a
    long time. Not where the job is being ended.

    >>> may_be_misfit(RuntimeError("RDDScanExec does not exist in the JVM"))
    True
    >>> may_be_misfit(RuntimeError("Job aborted due to stage failure: [DIVIDE_BY_ZERO] Division by zero"))
    False
    >>> may_be_misfit(RuntimeError("Job aborted due to stage failure: java.lang.ClassCastException: ..."))
    True
    """
    text = str(error)
    if any(sign in text for sign in (*_ENDED, _OF_A_ROW)):
        return False
    return _OF_A_TASK not in text or _MISFIT.search(text) is not None
