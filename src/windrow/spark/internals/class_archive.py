"""An archive of the classes that Java loads for Spark: with it, Java reads them as they lie in memory instead of from a hundred jars.

It is made once, on request, for one version of Java and one of Spark. One that does not fit is passed over by Java without a word.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from windrow.java import JavaHome
from windrow.settings import load_settings


def archive_path(java: JavaHome) -> Path:
    """Where the archive of this Java and this Spark is, or would be. It holds for the jars of one place only."""
    import pyspark

    place = hashlib.sha256(f"{java.path}\n{pyspark.__file__}".encode()).hexdigest()[:12]
    return load_settings().cache_folder / f"spark-{pyspark.__version__}-java-{java.version}-{place}.jsa"


def reading_option(archive: Path) -> str:
    """What Java is started with; nothing where there is no archive."""
    # Java writes the head of an archive last: a file that was not finished begins with zeros.
    if not archive.is_file() or not any(_head(archive)):
        return ""
    return f'"-XX:SharedArchiveFile={archive}" -Xlog:cds*=off'


def writing_option(archive: Path) -> str:
    return f'"-XX:ArchiveClassesAtExit={archive}" -Xlog:cds*=off'


def _head(archive: Path) -> bytes:
    try:
        with archive.open("rb") as file:
            return file.read(4)
    except OSError:
        return b""
