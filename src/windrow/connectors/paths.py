"""Folders and files as places that others may name, too."""

from __future__ import annotations

from windrow.connectors.spec import Place


def place_of_path(path: str) -> Place:
    """
    >>> place_of_path("s3a://bucket/in/"), place_of_path("file:///data/in")
    (Place(namespace='s3://bucket', name='in', is_pattern=False), Place(namespace='file', name='/data/in', is_pattern=False))
    >>> place_of_path("data/in/*.json").name, place_of_path("hdfs://nn:8020/in").name
    ('data/in', '/in')
    """
    scheme, found, rest = path.partition("://")
    rest, path = _folder(rest), _folder(path)
    if not found or scheme == "file":
        return Place("file", rest if found else path)
    place, _, key = rest.partition("/")
    # Hadoop has several names for S3, and OpenLineage one. What is no object store has paths.
    known = "s3" if scheme in ("s3a", "s3n") else scheme
    return Place(f"{known}://{place}", f"/{key}" if scheme in ("hdfs", "viewfs") else key)


def _folder(path: str) -> str:
    """Without a last part that is a pattern: who writes a folder and who reads its files mean the same."""
    path = path.rstrip("/").removeprefix("./")
    before, _, last = path.rpartition("/")
    return before if before and "*" in last else path
