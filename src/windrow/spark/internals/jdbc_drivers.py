"""JDBC drivers that the user brings: found in their jars, and connections on which statements run as one transaction.

Only the JDK's own API is called; Spark's JDBC source, which carries the rows, finds the same driver by its class once the jars are added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.spark.internals.jvm import jvm_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class NoDriverError(Exception):
    """What was named holds no driver, or none for this address."""


@dataclass(frozen=True)
class JdbcDriver:
    class_name: str
    _jvm: Any
    _driver: Any

    def accepts(self, url: str) -> bool:
        return bool(self._driver.acceptsURL(url))

    def refusal(self, url: str, properties: Mapping[str, str], insert: str, rows: Sequence[Sequence[Any]]) -> Exception | None:
        """What the database says to the first row that it does not take. Nothing stays."""
        from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # ships no types

        connection = self._connect(url, properties)
        try:
            connection.setAutoCommit(False)
            statement = connection.prepareStatement(insert)
            for row in rows:
                for place, value in enumerate(row, 1):
                    statement.setObject(place, value)
                try:
                    statement.executeUpdate()
                except Py4JJavaError as error:
                    found: Exception = error
                    return found
            return None
        finally:
            connection.rollback()
            connection.close()

    def _connect(self, url: str, properties: Mapping[str, str]) -> Any:
        given = self._jvm.java.util.Properties()
        for key, value in properties.items():
            given.setProperty(key, value)
        return self._driver.connect(url, given)

    def run(self, url: str, properties: Mapping[str, str], statements: Sequence[str], *, may_fail: bool = False) -> None:
        """All of the statements, or none; with ``may_fail`` each by itself, whatever becomes of it."""
        connection = self._connect(url, properties)
        try:
            connection.setAutoCommit(may_fail)
            for text in statements:
                self._execute(connection, text, may_fail=may_fail)
            if not may_fail:
                connection.commit()
        finally:
            connection.close()

    def _execute(self, connection: Any, text: str, *, may_fail: bool) -> None:
        from py4j.protocol import Py4JJavaError

        statement = connection.createStatement()
        try:
            statement.execute(text)
        except Py4JJavaError:
            if not may_fail:
                raise
        finally:
            statement.close()


def find_driver(spark: SparkSession, jars: Sequence[Path], class_name: str | None, url: str) -> JdbcDriver:
    """The driver of a class, else the one in the jars that takes the address."""
    jvm = jvm_of(spark)
    loader = _loader_of(spark, jvm, tuple(str(jar.absolute()) for jar in jars))
    if class_name is not None:
        return JdbcDriver(class_name, jvm, _made(jvm, loader, class_name))
    found = []
    services = jvm.java.util.ServiceLoader.load(jvm.java.lang.Class.forName("java.sql.Driver"), loader).iterator()
    while services.hasNext():
        found.append(services.next())
    for driver in found:
        if driver.acceptsURL(url):
            return JdbcDriver(str(driver.getClass().getName()), jvm, driver)
    names = ", ".join(str(driver.getClass().getName()) for driver in found)
    raise NoDriverError(f"no driver for this address: there is {names}" if names else "no driver")


# One for the same jars: the bridge to Java remembers methods by the names of their classes.
_LOADERS: dict[tuple[str | None, tuple[str, ...]], Any] = {}


def _loader_of(spark: SparkSession, jvm: Any, jars: tuple[str, ...]) -> Any:
    around = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if not jars:
        return around
    key = spark.sparkContext.applicationId, jars
    if key not in _LOADERS:
        urls = spark.sparkContext._gateway.new_array(jvm.java.net.URL, len(jars))  # type: ignore[union-attr]  # there is one
        for place, jar in enumerate(jars):
            urls[place] = jvm.java.io.File(jar).toURI().toURL()
        _LOADERS[key] = jvm.java.net.URLClassLoader(urls, around)
    return _LOADERS[key]


def _made(jvm: Any, loader: Any, class_name: str) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        return jvm.java.lang.Class.forName(class_name, True, loader).getDeclaredConstructor().newInstance()
    except Py4JJavaError as error:
        raise NoDriverError(f"no class {class_name}") from error
