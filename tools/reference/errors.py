"""The page of errors: examples of the text and of the checks come from the fixtures, all others from docs/reference/errors.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from tools.reference.markdown import DOCS, NOTICE, TESTS
from windrow.codes import ALL_CODES, ROW_CODES

DATA = DOCS / "reference" / "errors.toml"

_ABOUT_ERRORS = (
    "Every error has a code that never changes its meaning, the place in your own text where there is one, and one hint. "
    "`windrow check FILE --format json` gives the same to programs. Each has an example that a test provokes."
)
_GROUPS = (
    ("WR1", "The text", "Found while a file is read, before any name is looked up. Exit code 2."),
    ("WR2", "Names, types and rules", "Found by the checks, before anything runs; all of a file at once. Exit code 2."),
    (
        "WR5",
        "Connectors",
        "Wrong options and missing folders are found when a job starts (exit code 2), the rest while it runs (exit code 1).",
    ),
    ("WR6", "Command line, settings and Java", "Exit code 2, except for Spark not starting (1)."),
    (
        "WR7",
        "Rows that were set aside",
        "No errors of a job: each stands for one row, in the [dead letters](bad-rows.md) or in the ledger's count.",
    ),
    (
        "WR8",
        "Jobs and their state",
        "See [operations](operations.md). Exit code 2 where a job does not start, 1 where a running one stops.",
    ),
    ("WR9", "Cases, and faults of Windrow", "See [testing](testing.md)."),
)


def errors_page() -> str:
    shown, situations = error_examples(), load()
    parts = [
        "# Errors",
        NOTICE,
        _ABOUT_ERRORS,
    ]
    for prefix, title, about in _GROUPS:
        parts.append(f"## {title}\n{about}")
        for name, meaning in sorted(ALL_CODES.items()):
            if name.startswith(prefix):
                example = situations[name].shown if name in situations else f"```text\n{shown[name]}\n```"
                parts.append(f"### {name}\n{meaning[0].upper()}{meaning[1:]}.\n{example}")
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True)
class Situation:
    """An error that no text of SQL alone gives. ``test`` names the test that provokes it, as pytest does."""

    code: str
    when: str
    says: str
    test: str

    @property
    def shown(self) -> str:
        """A row that is set aside is no error of a job: its code is all there is to say."""
        said = "" if self.code in ROW_CODES else f"\n```text\n[{self.code}] {self.says}\n```"
        return f"\nFor example: {self.when}.{said}"


def load() -> dict[str, Situation]:
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    return {code: Situation(code, **entry) for code, entry in data.items()}


def error_examples() -> dict[str, str]:
    """For each code the shortest text that a fixture shows for it, by itself."""
    found: dict[str, str] = {}
    for shown in _shown_by_fixtures():
        names = re.findall(r"^\[(WR\d+)\]", shown, re.MULTILINE)
        if len(names) == 1 and (names[0] not in found or len(shown) < len(found[names[0]])):
            found[names[0]] = shown
    return found


def _shown_by_fixtures() -> Iterator[str]:
    text = (TESTS / "unit" / "sql" / "errors.txt").read_text(encoding="utf-8")
    yield from (entry.partition("\n=>\n")[2].strip("\n") for entry in re.split(r"\n\n(?=.*(?:\n.+)*?\n=>\n)", text))
    for path in sorted((TESTS / "unit" / "check" / "diagnostics").glob("*.txt")):
        for block in ("\n" + path.read_text(encoding="utf-8")).split("\n==\n")[1:]:
            yield block.partition("\n--\n")[2].strip("\n")
