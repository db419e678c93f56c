import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from windrow.testing.contracts import AggregateContract, FunctionContract, SharedSinkContract, StreamSourceContract, TableSourceContract


def options(folder: Path) -> dict[str, str]:
    return {"path": str(folder / "test.db"), "table": "rows"}


class TestSqliteSink(SharedSinkContract):
    connector = "sqlite"

    def options(self, folder: Path) -> Mapping[str, str]:
        return options(folder)

    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        with closing(sqlite3.connect(folder / "test.db")) as database:
            return [{"k": k, "v": v} for k, v in database.execute("SELECT k, v FROM rows")]


class TestSqliteTable(TableSourceContract):
    connector = "sqlite"

    def options(self, folder: Path) -> Mapping[str, str]:
        return options(folder)

    def fill(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with closing(sqlite3.connect(folder / "test.db")) as database, database:
            database.execute("DROP TABLE IF EXISTS rows")
            database.execute("CREATE TABLE rows (k TEXT, v INTEGER)")
            database.executemany("INSERT INTO rows VALUES (:k, :v)", rows)


class TestSqliteStream(StreamSourceContract):
    connector = "sqlite"

    def options(self, folder: Path) -> Mapping[str, str]:
        return options(folder)

    def append(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        with closing(sqlite3.connect(folder / "test.db")) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS rows (k TEXT, v INTEGER)")
            database.executemany("INSERT INTO rows VALUES (:k, :v)", rows)


class TestHarmonicMean(AggregateContract):
    name = "HARMONIC_MEAN"
    examples = (([1.0, 2.0, 4.0], 12 / 7), ([5.0], 5.0), ([5.0, None, 5.0], 5.0), ([], None))


class TestSlug(FunctionContract):
    name = "SLUG"
    examples = ((("North  Road",), "north-road"), (("a_b",), "a-b"), ((None,), None), (("",), ""))
