"""From a path as a user writes it to the folder it means.

A path without a scheme means what it means to Spark: a place on the default file system (``fs.defaultFS``). That is the local disk,
unless a cluster's configuration says otherwise.
"""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import UsageError
from windrow.settings import hadoop_folders, spark_folders
from windrow.storage import s3_files, web_hdfs
from windrow.storage.filesystem import Folder
from windrow.storage.jvm import DEFAULT, LOCAL, Hadoop, any_hadoop, hadoop_of
from windrow.storage.local import LocalFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A letter alone is a drive, not a scheme.
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_SPARK_DEFAULT = f"spark.hadoop.{DEFAULT}"


def open_folder(path: str | Path, spark: SparkSession | None = None, settings: Mapping[str, str] | None = None) -> Folder:
    """The folder at a path or URI; nothing is made or changed. Without a session, a JVM is started where the folder is not local."""
    address = qualified(path, spark, settings)
    local = _local_part(address)
    if local is not None:
        return LocalFolder(local)
    from windrow.storage.hadoop import HadoopFolder

    try:
        return HadoopFolder(_hadoop(spark, settings), address)
    except UsageError:
        raise
    except Exception as error:
        raise _unreachable(str(path), error) from error


def _unreachable(path: str, error: Exception) -> UsageError:
    from windrow.storage.hadoop import java_reason

    reason = getattr(error, "reason", None) or java_reason(error)
    return UsageError("WR801", f"cannot open the folder {path}: {reason}", _hint(path, reason))


def _hint(address: str, reason: str) -> str:
    scheme = address.partition(":")[0]
    if "No FileSystem for scheme" in reason or "ClassNotFoundException" in reason:
        return f"give Spark the jars of {scheme}: --set spark.jars.packages=org.apache.hadoop:hadoop-aws:3.5.0 for s3a, or spark.jars=FILE"
    return "check the address, and that its file system can be reached from here"


def qualified(path: str | Path, spark: SparkSession | None = None, settings: Mapping[str, str] | None = None) -> str:
    """A path with its scheme: ``file:`` and an absolute path, or the URI of another file system.

    >>> qualified("file:///data/in"), qualified("s3a://bucket/in")
    ('file:/data/in', 's3a://bucket/in')
    """
    text = str(path)
    if text.startswith(LOCAL):
        return f"{LOCAL}{_local_part(text)}"
    if _SCHEME.match(text):
        return text
    if _is_default_local(spark, settings):
        return f"{LOCAL}{os.path.abspath(os.path.expanduser(text))}"
    try:
        return _hadoop(spark, settings).qualified(text)
    except UsageError:
        raise
    except Exception as error:
        raise _unreachable(text, error) from error


def is_local(path: str | Path, spark: SparkSession | None = None, settings: Mapping[str, str] | None = None) -> bool:
    """Whether a path is on a local disk, found without starting a JVM."""
    text = str(path)
    return text.startswith(LOCAL) or (not _SCHEME.match(text) and _is_default_local(spark, settings))


def may_be_for_workers(path: str | Path, settings: Mapping[str, str] | None = None) -> bool:
    """Whether workers could reach a folder themselves, as far as its address says: found without starting a JVM."""
    text = str(path)
    address = text if _SCHEME.match(text) else (settings or {}).get(_SPARK_DEFAULT) or _configured_default()
    return address.partition(":")[0].lower() in {"file", *s3_files.SCHEMES, *web_hdfs.SCHEMES}


def local_path(path: str) -> str | None:
    """The plain path of a local one, plain or with ``file:``, on a machine whose default file system is the local disk; else None.

    >>> local_path("file:///tmp/a"), local_path("s3a://bucket/a")
    ('/tmp/a', None)
    """
    if path.startswith(LOCAL):
        return _local_part(path)
    return None if _SCHEME.match(path) else os.path.abspath(os.path.expanduser(path))


def _local_part(address: str) -> str | None:
    return "/" + address.removeprefix(LOCAL).lstrip("/") if address.startswith(LOCAL) else None


def _hadoop(spark: SparkSession | None, settings: Mapping[str, str] | None) -> Hadoop:
    return hadoop_of(spark) if spark is not None else any_hadoop(settings)


def _is_default_local(spark: SparkSession | None, settings: Mapping[str, str] | None) -> bool:
    if spark is not None:
        return hadoop_of(spark).default_filesystem.startswith(LOCAL)
    asked = (settings or {}).get(_SPARK_DEFAULT)
    return (asked or _configured_default()).startswith(LOCAL)


def _configured_default() -> str:
    """What the configuration files of Spark and Hadoop say, as a JVM would read them."""
    for folder in spark_folders():
        with_default = re.search(rf"^\s*{re.escape(_SPARK_DEFAULT)}[\s=]+(\S+)", _text_of(folder / "spark-defaults.conf"), re.MULTILINE)
        if with_default is not None:
            return with_default[1]
    for folder in hadoop_folders():
        text = _text_of(folder / "core-site.xml")
        if not text:
            continue
        for found in _parsed(text, folder).iter("property"):
            if (found.findtext("name") or "").strip() in (DEFAULT, "fs.default.name"):
                return (found.findtext("value") or "").strip() or "file:///"
    return "file:///"


def _parsed(text: str, folder: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UsageError("WR801", f"{folder}/core-site.xml is not XML: {error}", "mend it, or unset HADOOP_CONF_DIR") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
