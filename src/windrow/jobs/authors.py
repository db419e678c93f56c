"""Who makes a change, and from which commit: what the history of a job notes."""

from __future__ import annotations

import getpass
import subprocess
from pathlib import Path


def user_name() -> str:
    """Empty where the system knows none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def git_commit(file: str) -> str:
    """The commit of the folder that a file is in, where git says so; of the present folder for a text that is no file."""
    folder = Path(file).resolve().parent if Path(file).is_file() else Path.cwd()
    try:
        done = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
