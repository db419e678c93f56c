"""The codes of the command line, each declared once."""

from __future__ import annotations

FILES_NOT_READ = "WR607"
NO_FILE = "WR610"
IS_FOLDER = "WR611"
NOT_TEXT = "WR612"
UNREADABLE = "WR613"
EMPTY_FILE = "WR614"
BAD_SETTING = "WR615"
UNKNOWN_SETTING = "WR616"
BARE_PLACEHOLDER = "WR617"
BAD_VALUE = "WR618"
CONFLICT = "WR619"
NOTHING_TO_RUN = "WR620"
NO_STATE = "WR621"
NO_CASE = "WR622"
UNWRITABLE = "WR623"
NO_SPARK = "WR624"
NOT_SUBMITTED = "WR647"
NO_PACKAGE = "WR648"
NO_BATCH = "WR651"
NO_NEW_BATCH = "WR652"
NO_SUCH_ROW = "WR653"
NO_SUCH_STATEMENT = "WR654"
UNEXPECTED = "WR999"

CODES: dict[str, str] = {
    FILES_NOT_READ: "a file could not be read, and --strict asks for all",
    NO_FILE: "there is no such file",
    IS_FOLDER: "a folder where a file is needed",
    NOT_TEXT: "a file that is not UTF-8 text",
    UNREADABLE: "a file that may not or cannot be read",
    EMPTY_FILE: "an empty file",
    BAD_SETTING: "--set with something that is not key=value, or a value that makes no sense",
    UNKNOWN_SETTING: "--set with an unknown key",
    BARE_PLACEHOLDER: "fmt cannot keep a placeholder outside of quotes",
    BAD_VALUE: "an option of the command line has a value that makes no sense",
    CONFLICT: "options of the command line that exclude each other",
    NOTHING_TO_RUN: "the file only defines sources",
    NO_STATE: "there is no state folder of a job",
    NO_CASE: "no case to run",
    UNWRITABLE: "a report cannot be written",
    NO_SPARK: "Spark does not start",
    NOT_SUBMITTED: "a file cannot be submitted to a cluster with its driver",
    NO_PACKAGE: "a package that Windrow depends on is not installed",
    NO_BATCH: "a job whose batches were never recorded",
    NO_NEW_BATCH: "a job that committed nothing while it was watched",
    NO_SUCH_ROW: "why of a row that the job does not know, or has not read yet",
    NO_SUCH_STATEMENT: "why of a statement or source that the file does not have",
    UNEXPECTED: "a fault of Windrow itself",
}
