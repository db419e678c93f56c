"""What the ending of a path tells of the format of its files."""

from __future__ import annotations

_COMPRESSIONS = (".gz", ".bz2", ".zst", ".zstd", ".snappy", ".lz4", ".deflate")
_ENDINGS = {".json": "json", ".jsonl": "json", ".ndjson": "json", ".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def format_of(path: str) -> str | None:
    """The format that the ending of a path tells, or None.

    >>> format_of("in/trades-*.csv.gz"), format_of("in/trades")
    ('csv', None)
    """
    ending = ending_of(path)
    return _ENDINGS.get(ending) if ending else None


def ending_of(path: str) -> str | None:
    name = path.rstrip("/").rsplit("/", 1)[-1].lower()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    return next((ending for ending in _ENDINGS if name.endswith(ending)), None)
