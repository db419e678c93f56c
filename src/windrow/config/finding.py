"""From a file or folder to the ``windrow.yaml`` that holds for it."""

from __future__ import annotations

from pathlib import Path

from windrow.config import codes
from windrow.config.reading import Project, read_project
from windrow.errors import UsageError
from windrow.model.place import SourceText

FILE_NAME = "windrow.yaml"
# Nobody's project reaches beyond the folder with one of these.
_ROOTS = (".git", ".hg")


def find_project(file: str) -> Project | None:
    """The project of a SQL file: that of its folder or of the nearest one above, up to the root of its repository."""
    start = Path(file).resolve()
    for folder in start.parents if not start.is_dir() else (start, *start.parents):
        if (folder / FILE_NAME).is_file():
            return _read(folder / FILE_NAME)
        if any((folder / root).exists() for root in _ROOTS):
            return None
    return None


def project_in(folder: str) -> Project | None:
    """The project whose ``windrow.yaml`` lies in this very folder."""
    path = Path(folder, FILE_NAME)
    return _read(path.resolve()) if path.is_file() else None


def _read(path: Path) -> Project:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise UsageError(codes.NOT_YAML, f"cannot read {path}: {reason}", "save it as UTF-8 and check its permissions") from None
    return read_project(SourceText(text, shown(path)), path.parent)


def shown(path: Path) -> str:
    """A path as short as it can be told from the working folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
