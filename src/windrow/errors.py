"""Every error a user can meet, and the one way it is shown.

The tree::

    WindrowError                something went wrong; has a code, a message and a hint
    ├── SqlError                wrong SQL: carries every diagnostic of the file at once (exit code 2)
    ├── UsageError              wrong command line, setting or folder (exit code 2)
    │   └── NotThereError       something outside is not there yet: whoever can wait tries again
    └── JobError                a job or a case that was running failed (exit code 1)
        ├── OutageError         a system outside does not answer: a job may wait for it and go on
        ├── UnavailableError    the system of an output was waited for in vain: the output's options say what happens now
        └── SparkLostError      Spark's own process has ended: the next run does the batch again

A new class is added only where a caller handles it differently. All of them pickle, because they cross Spark workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.model.place import SourceText, Span


class Severity(Enum):
    """An error keeps a file from running; a warning is about something that runs and may surprise."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Diagnostic:
    """One finding about the user's text: what is wrong, where, and what to paste instead."""

    code: str
    message: str
    span: Span | None = None
    hint: str | None = None
    severity: Severity = Severity.ERROR

    @property
    def is_warning(self) -> bool:
        return self.severity is Severity.WARNING

    def render(self, source: SourceText | None = None) -> str:
        """The finding as a person reads it: code and message, the line with a caret under it, one hint.

        >>> text = SourceText("SELECT a\\nFROM t\\nGROUP BY vlume")
        >>> print(Diagnostic("WR214", 'unknown column "vlume" in GROUP BY', Span(25, 30), 'did you mean "volume"?').render(text))
        [WR214] unknown column "vlume" in GROUP BY
          3 | GROUP BY vlume
            |          ^^^^^
          hint: did you mean "volume"?
        """
        lines = [f"[{self.code}] {'warning: ' if self.is_warning else ''}{self.message}"]
        if source is not None and self.span is not None:
            lines.extend(source.excerpt(self.span))
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class WindrowError(Exception):
    """The root: a stable code, a message, and usually a hint."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return Diagnostic(self.code, self.message, None, self.hint).render()


class UsageError(WindrowError):
    """The command line, a setting, or a folder the user named is wrong."""


class NotThereError(UsageError):
    """A file, table, topic or server that may still come. A stream waits for its tables; others treat it as wrong."""


class JobError(WindrowError):
    """A job that was running cannot go on."""


class OutageError(JobError):
    """A system outside does not answer. Nothing is wrong with the job, which may go on when it is back."""


class UnavailableError(JobError):
    """The system of an output did not answer for as long as it was to be waited for."""


class SparkLostError(JobError):
    """Spark's Java process has ended before the job did. Where somebody wanted the job to stop, that is no failure."""


class SqlError(WindrowError):
    """Wrong SQL. Carries every diagnostic that was found, so that a user mends a file in one go."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], source: SourceText) -> None:
        first = diagnostics[0]
        super().__init__(first.code, first.message, first.hint)
        self.args = (diagnostics, source)
        self.diagnostics = diagnostics
        self.source = source

    def __str__(self) -> str:
        return "\n".join(diagnostic.render(self.source) for diagnostic in self.diagnostics)
