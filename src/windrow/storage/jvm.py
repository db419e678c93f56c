"""The JVM through which Hadoop's file systems are reached: that of a Spark session, or one of our own where there is none."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from windrow.errors import UsageError
from windrow.java import ensure_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT = "fs.defaultFS"
LOCAL = "file:"


class Hadoop:
    """Hadoop's classes and its configuration in one JVM."""

    def __init__(self, jvm: Any, configuration: Any, gateway: Any) -> None:
        self._jvm = jvm
        self._configuration = configuration
        self._gateway = gateway
        self._contexts: dict[str, Any] = {}

    def path(self, address: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(address)

    def filesystem(self, address: str) -> Any:
        return self.path(address).getFileSystem(self._configuration)

    def context(self, address: str) -> Any | None:
        """The newer interface to a file system, None where it has none."""
        root = str(self.path(address).toUri().resolve("/"))
        if root not in self._contexts:
            self._contexts[root] = self._find_context(address)
        return self._contexts[root]

    def _find_context(self, address: str) -> Any | None:
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types

        try:
            return self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(self.path(address).toUri(), self._configuration)
        except Py4JJavaError as error:
            if "UnsupportedFileSystemException" in str(error.java_exception.toString()):
                return None
            raise

    def overwriting(self) -> Any:
        """The options of a rename that takes the place of what was there."""
        return self._overwriting

    @cached_property
    def _overwriting(self) -> Any:
        rename = self._jvm.org.apache.hadoop.fs.Options.Rename
        options = self._gateway.new_array(rename, 1)
        options[0] = rename.OVERWRITE
        return options

    @property
    def default_filesystem(self) -> str:
        return str(self._configuration.get(DEFAULT, "file:///"))

    def setting(self, name: str) -> str | None:
        found = self._configuration.get(name)
        return None if found is None else str(found)

    def secret(self, name: str) -> str | None:
        """A password or key: from where Hadoop keeps such things (``hadoop.security.credential.provider.path``), or a plain setting."""
        found = self._configuration.getPassword(name)
        return None if found is None else "".join(map(str, found))

    def user(self) -> str:
        return str(self._jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser().getShortUserName())

    def qualified(self, path: str) -> str:
        """A path with the scheme, host and folder that Hadoop adds where they are not written."""
        plain = self.path(path)
        return str(plain.getFileSystem(self._configuration).makeQualified(plain).toString())


def hadoop_of(spark: SparkSession) -> Hadoop:
    context: Any = spark.sparkContext
    return Hadoop(context._jvm, context._jsc.hadoopConfiguration(), context._gateway)


def any_hadoop(settings: Mapping[str, str] | None = None) -> Hadoop:
    """That of the Spark session of this process; where there is none, of a JVM that is started for it, without Spark's own start.

    ``settings`` are Spark's (``spark.hadoop.*``, ``spark.jars``, ...), for a JVM of our own. Whoever has none gets the one that was started
    last: an output of a job is reached as its state is.
    """
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    if context is not None:
        return Hadoop(context._jvm, context._jsc.hadoopConfiguration(), context._gateway)
    if _OWN and not settings:
        return next(reversed(_OWN.values()))
    asked = tuple(sorted((settings or {}).items()))
    if asked not in _OWN:
        _OWN[asked] = start_hadoop(dict(asked))
    return _OWN[asked]


# Those of our own in this process, by their settings.
_OWN: dict[tuple[tuple[str, str], ...], Hadoop] = {}


def start_hadoop(settings: Mapping[str, str]) -> Hadoop:
    """Hadoop in a JVM of its own, which ends with this process."""
    ensure_java(install=False).activate()
    from pyspark import SparkConf, java_gateway

    launch: Any = java_gateway.launch_gateway
    asked = SparkConf(loadDefaults=False)
    asked.set("spark.ui.showConsoleProgress", "false")
    for key, value in settings.items():
        asked.set(key, value)
    with tempfile.TemporaryFile() as said:
        # What a JVM remarks at its start is of no use to the user, unless it does not start.
        try:
            gateway: Any = launch(conf=asked, popen_kwargs={"stdin": subprocess.PIPE, "stdout": said, "stderr": said})
        except Exception as error:
            said.seek(0)
            lines = said.read().decode("utf-8", "replace").strip().splitlines()
            reason = lines[-1] if lines else str(error)
            raise UsageError("WR801", f"no JVM for Hadoop could be started: {reason}", "windrow run shows whether Spark starts") from error
    jvm: Any = gateway.jvm
    # It knows spark-defaults.conf and what was asked for, as a session's does.
    spark_conf = jvm.org.apache.spark.SparkConf()
    configuration = jvm.org.apache.spark.deploy.SparkHadoopUtil.get().newConfiguration(spark_conf)
    return Hadoop(jvm, configuration, gateway)
