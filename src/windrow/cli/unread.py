"""Files that a command went on without, as a failure where that is asked for."""

from __future__ import annotations

from windrow.cli import codes
from windrow.errors import JobError


def refuse_unread(files: list[str]) -> None:
    """For whoever runs it from a script: what was left out is told by the exit code, too."""
    if files:
        what = "1 file" if len(files) == 1 else f"{len(files):,} files"
        hint = "mend or remove them; without --strict the command succeeds"
        raise JobError(codes.FILES_NOT_READ, f"{what} could not be read, and --strict asks for all: {', '.join(files[:3])}", hint)
