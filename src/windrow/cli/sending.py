"""What goes to a server with a SQL file: its ``windrow.yaml``, the SQL of its project, Python functions, the files of its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from windrow.cli.files import STDIN, read_sql, stem


@dataclass(frozen=True)
class Parcel:
    """``files`` are by their paths from the folder of ``windrow.yaml``, or that of the file where there is none."""

    sql: str
    project: str = ""
    files: dict[str, str] = field(default_factory=dict)


def parcel_of(file: str) -> Parcel:
    from windrow.config import find_project
    from windrow.server.texts import check_files

    sql = read_sql(file)
    if file == STDIN:
        return Parcel(sql)
    project = find_project(file)
    home = Path(file).resolve().parent if project is None else project.folder
    found: dict[str, str] = {}
    texts = {Path(file).resolve(): sql}
    for path in [] if project is None else [*project.includes, *project.sql_files]:
        if path.resolve() not in texts:
            texts[path.resolve()] = found[path.relative_to(home).as_posix()] = _read(path)
    for text in texts.values():
        for name, path in _named_by(text, Path(file).resolve().parent, home):
            found.setdefault(name, _read(path))
    check_files(tuple(found.items()), stem(file))
    return Parcel(sql, "" if project is None else project.source.text, found)


def _named_by(sql: str, beside: Path, home: Path) -> Iterator[tuple[str, Path]]:
    """The modules and the files that a text names, each by the path at which a job looks for it."""
    from windrow.model.place import SourceText
    from windrow.model.statement import CreateFunction, CreateTable
    from windrow.server.secrets import stand_ins
    from windrow.sql import read_source, substitute

    for statement in read_source(SourceText(substitute(sql, stand_ins([sql], {})))).script.statements:
        if isinstance(statement, CreateFunction):
            name = f"{statement.target.partition(':')[0].replace('.', '/')}.py"
            if (beside / name).is_file():
                yield name, beside / name
        elif isinstance(statement, CreateTable) and (statement.options.get("connector") or "").lower() == "files":
            yield from _data(str(statement.options.get("path") or ""), home)


def _data(path: str, home: Path) -> Iterator[tuple[str, Path]]:
    """What lies at a relative path, from the project or from here. A whole path means the same on the server."""
    if not path or "://" in path or "${" in path or Path(path).is_absolute():
        return
    root = next((root for root in (home, Path.cwd()) if (root / path).exists() or any(root.glob(path))), None)
    if root is None:
        return
    for one in sorted((root / path).rglob("*") if (root / path).is_dir() else root.glob(path)):
        if one.is_file() and not one.name.startswith((".", "_")):
            yield one.relative_to(root).as_posix(), one


def _read(path: Path) -> str:
    from windrow.errors import UsageError
    from windrow.server.texts import BAD_PROJECT

    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        hint = "put it where jobs of the server can read it, and name its place with a whole path"
        raise UsageError(BAD_PROJECT, f"{path} cannot go to a server: {reason}", hint) from None
