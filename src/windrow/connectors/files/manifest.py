"""The manifest: which files of a sink's folder belong to complete batches."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from windrow.connectors.files.settings import SinkSettings
from windrow.connectors.runtime import SinkRequest
from windrow.errors import JobError
from windrow.storage import open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MANIFESTS = "_manifest"


@dataclass(frozen=True)
class ManifestFile:
    name: str
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """One complete batch of one statement."""

    batch_id: int
    statement: str
    format: str
    rows: int
    files: tuple[ManifestFile, ...]

    def to_json(self) -> bytes:
        """The same bytes for the same batch: no clock, no host."""
        files = [{"name": file.name, "bytes": file.bytes} for file in self.files]
        body = {"batch": self.batch_id, "statement": self.statement, "format": self.format, "rows": self.rows, "files": files}
        return (json.dumps(body, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        body = json.loads(data)
        files = tuple(ManifestFile(file["name"], file["bytes"]) for file in body["files"])
        return cls(body["batch"], body["statement"], body["format"], body["rows"], files)


@dataclass(frozen=True)
class BatchNames:
    """Every name that a batch of a statement uses below the sink's folder; the same for every attempt."""

    batch_id: int
    statement: str
    ending: str

    @property
    def stem(self) -> str:
        return f"{self.batch_id:010d}-{quote(self.statement, safe='')}"

    @property
    def staging(self) -> str:
        return f".staging/{self.stem}"

    @property
    def manifest(self) -> str:
        return f"{MANIFESTS}/{self.stem}.json"

    def part(self, number: int) -> str:
        """
        >>> BatchNames(7, "out", "json").part(0)
        'batch-0000000007-out-00000.json'
        """
        return f"batch-{self.stem}-{number:05d}.{self.ending}"

    def owns(self, name: str) -> bool:
        """Whether a file was written by some attempt of this batch, in whatever format."""
        return re.fullmatch(rf"batch-{re.escape(self.stem)}-\d{{5,}}\.\w+", name) is not None


def read_manifest(path: str, spark: SparkSession | None = None) -> list[Manifest]:
    """The complete batches of a sink's folder, oldest first."""
    folder = open_folder(path, spark)
    found = []
    for name in folder.entries(MANIFESTS):
        if not name.endswith(".json") or name.startswith("."):
            continue
        try:
            found.append(Manifest.from_json(folder.read(f"{MANIFESTS}/{name}")))
        except (ValueError, KeyError, TypeError) as error:
            raise JobError("WR525", f"{path}/{MANIFESTS}/{name} is not a manifest: {error}", "restore it, or remove the folder") from error
    return sorted(found, key=lambda manifest: (manifest.batch_id, manifest.statement))


def forget_after(request: SinkRequest, batch_id: int) -> None:
    """Take away what a statement wrote after a batch, each batch's manifest before its files."""
    path = SinkSettings.of(request.options).path
    folder = open_folder(path, None)
    for manifest in read_manifest(path):
        if manifest.statement == request.statement and manifest.batch_id > batch_id:
            folder.remove(BatchNames(manifest.batch_id, manifest.statement, manifest.format).manifest)
            for file in manifest.files:
                folder.remove(file.name)


def committed_files(path: str, spark: SparkSession | None = None) -> list[str]:
    """The full paths of all files that belong to complete batches, in batch order."""
    root = open_folder(path, spark).uri().removeprefix("file:")
    return [f"{root}/{file.name}" for manifest in read_manifest(path, spark) for file in manifest.files]
