"""Our own connectors pass the contract that others' must pass."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from windrow.connectors.files.runtime import committed_files
from windrow.testing.contracts import AggregateContract, SinkContract, StreamSourceContract, TableSourceContract


class TestFilesSink(SinkContract):
    connector = "files"

    def options(self, folder: Path) -> Mapping[str, str]:
        return {"path": str(folder / "out"), "format": "json"}

    def written(self, folder: Path) -> Sequence[Mapping[str, Any]]:
        lines = (line for file in committed_files(str(folder / "out")) for line in Path(file).read_text().splitlines())
        return [{"k": row.get("k"), "v": row.get("v")} for row in map(json.loads, lines)]


class TestFilesTable(TableSourceContract):
    connector = "files"

    def options(self, folder: Path) -> Mapping[str, str]:
        return {"path": str(folder), "format": "json"}

    def fill(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        (folder / "rows.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


class _FilesStream(StreamSourceContract):
    connector = "files"

    def options(self, folder: Path) -> Mapping[str, str]:
        return {"path": str(folder / "in"), "format": self.format}

    def append(self, folder: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        (folder / "in").mkdir(exist_ok=True)
        number = len(list((folder / "in").iterdir()))
        place = folder / "in" / f"{number}.{self.format}"
        self.write(place, rows)
        # The order of files is that of their seconds.
        os.utime(place, (1_700_000_000 + number, 1_700_000_000 + number))

    format: ClassVar[str]

    def write(self, place: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        raise NotImplementedError


class TestJsonStream(_FilesStream):
    format = "json"

    def write(self, place: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        place.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


class TestCsvStream(_FilesStream):
    format = "csv"

    def write(self, place: Path, rows: Sequence[Mapping[str, Any]]) -> None:
        place.write_text("k,v\n" + "".join(f"{row['k']},{'' if row['v'] is None else row['v']}\n" for row in rows))


class TestMean(AggregateContract):
    name = "AVG"
    examples = (([1.0, 2.0, 6.0], 3.0), ([None, 4.0], 4.0), ([], None))


class TestDeviation(AggregateContract):
    name = "STDDEV"
    examples = (([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], 2.138089935299395), ([1.0], None))
