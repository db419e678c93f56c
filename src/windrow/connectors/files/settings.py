"""The options of a files source or sink as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from windrow.connectors.changes import DEBEZIUM
from windrow.connectors.files.endings import ending_of, format_of
from windrow.errors import UsageError


@dataclass(frozen=True)
class CsvSettings:
    header: bool
    delimiter: str
    quote: str
    escape: str
    null: str
    multiline: bool

    @classmethod
    def of(cls, options: Mapping[str, str], path: str) -> CsvSettings:
        delimiter = options.get("csv.delimiter") or ("\t" if ending_of(path) == ".tsv" else ",")
        quote = _one_character(options, "csv.quote", '"')
        return cls(
            header=flag(options, "csv.header", default=True),
            delimiter="\t" if delimiter == "\\t" else delimiter,
            quote=quote,
            escape=_one_character(options, "csv.escape", quote),
            null=options.get("csv.null", ""),
            multiline=flag(options, "csv.multiline", default=False),
        )


@dataclass(frozen=True)
class SourceSettings:
    path: str
    # None: not stated and not told by the path; json unless the files say otherwise.
    format: str | None
    csv: CsvSettings
    per_batch: int | None
    is_recursive: bool
    # The stream's policy for a value that does not fit its column: 'null' or 'dead_letter'.
    bad_fields: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SourceSettings:
        path = _path(options)
        per_batch = options.get("files.per_batch")
        if per_batch is not None and (not per_batch.isdigit() or int(per_batch) < 1):
            raise UsageError("WR503", f"'files.per_batch' = '{per_batch}' is not a number of files", "'files.per_batch' = '10'")
        return cls(
            path=path,
            format=_format(options.get("format"), DEBEZIUM) or format_of(path),
            csv=CsvSettings.of(options, path),
            per_batch=None if per_batch is None else int(per_batch),
            is_recursive=flag(options, "files.recursive", default=False),
            bad_fields=options.get("bad.fields", "null"),
        )


@dataclass(frozen=True)
class SinkSettings:
    path: str
    format: str
    csv: CsvSettings

    @classmethod
    def of(cls, options: Mapping[str, str]) -> SinkSettings:
        path = _path(options)
        return cls(path=path, format=_format(options.get("format")) or "json", csv=CsvSettings.of(options, ""))


def flag(options: Mapping[str, str], key: str, *, default: bool) -> bool:
    text = options.get(key)
    if text is None:
        return default
    if text.lower() not in ("true", "false"):
        raise UsageError("WR503", f"'{key}' = '{text}' is neither true nor false", f"'{key}' = 'true'")
    return text.lower() == "true"


def _path(options: Mapping[str, str]) -> str:
    path = options.get("path", "").strip()
    if not path:
        raise UsageError("WR503", "'path' is missing", "'path' = 'data/trades'")
    return path


def _format(text: str | None, *more: str) -> str | None:
    if text is None:
        return None
    if text.lower() not in ("json", "csv", "parquet", *more):
        raise UsageError("WR503", f"'format' = '{text}' is not a format of files", "'format' = 'json', 'csv' or 'parquet'")
    return text.lower()


def _one_character(options: Mapping[str, str], key: str, default: str) -> str:
    text = options.get(key, default)
    if len(text) != 1:
        raise UsageError("WR503", f"'{key}' = '{text}' is not one character", f"'{key}' = '{default}'")
    return text
