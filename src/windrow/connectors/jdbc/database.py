"""A database behind a driver: how Spark and statements reach it, and what its failures mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.connectors.jdbc.spec import address_of
from windrow.connectors.keys import listed_names
from windrow.connectors.times import duration_option
from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import FailureClass
from windrow.spark.internals.java_errors import messages_of, spark_errors
from windrow.spark.internals.jdbc_drivers import JdbcDriver, NoDriverError, find_driver

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NO_DRIVER, BAD_OPTION, DOES_NOT_FIT, FAILED = "WR918", "WR919", "WR908", "WR909"
_PROPERTY = "connection."
# How drivers of databases call what may pass: a server that is away, and one that asks for another try.
_PASSING = re.compile(
    r"SQLTransient|SQLRecoverable|NonTransientConnection|CommunicationsException|ConnectException|Connection refused|Connection reset|"
    r"SocketTimeout|SocketException|connection (?:is|was|has been) (?:closed|broken)|database is locked|[Dd]eadlock|Lock timeout|try again",
)
_OF_ROWS = re.compile(r"SQLDataException|IntegrityConstraint|DataIntegrity|[Dd]ata (?:too long|conversion error|truncation)|out of range")
_CLASS = re.compile(r"^(?:[a-z_]\w*\.)+[A-Z]\w*(?:Exception|Error): ")
# What Java says to a method of the other class.
_OTHER_CLASS = "object is not an instance of declaring class"
_CAUSE = re.compile(r"^(?:Caused by|:)?:? ?((?:[a-z_]\w*\.)+[A-Z]\w*(?:Exception|Error): .*)$", re.MULTILINE)


@dataclass(frozen=True)
class Database:
    """``url`` and ``properties`` hold secrets: they are never printed."""

    url: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)
    driver: JdbcDriver
    retry_seconds: float

    @classmethod
    def of(cls, spark: SparkSession, options: Mapping[str, str]) -> Database:
        url = options.get("url", "").strip()
        if not url.lower().startswith("jdbc:"):
            raise UsageError(BAD_OPTION, "'url' is not the address of a database for JDBC", "'url' = 'jdbc:mysql://db.example.com/shop'")
        jars = [Path(name) for name in listed_names(options.get("driver.jar", ""))]
        missing = next((jar for jar in jars if not jar.is_file()), None)
        if missing is not None:
            hint = "fetch the driver of your database, for H2 from Maven Central: com.h2database:h2"
            raise UsageError(NO_DRIVER, f"the driver {missing} is not there", hint)
        try:
            driver = find_driver(spark, jars, options.get("driver"), url)
        except NoDriverError as error:
            raise _no_driver(options, jars, error) from None
        for jar in jars:
            # Spark's own source, which carries the rows, loads the driver by its class, here and on the executors.
            spark.sql(f"ADD JAR '{_escaped(str(jar.absolute()))}'")
        given = {"user": options.get("user"), "password": options.get("password")}
        properties = {key: value for key, value in given.items() if value is not None}
        properties |= {key[len(_PROPERTY) :]: value for key, value in options.items() if key.lower().startswith(_PROPERTY)}
        retry = duration_option(options, "retry.timeout", "10m", BAD_OPTION) / 1_000_000
        return cls(url, properties, driver, retry)

    @property
    def system(self) -> str:
        return f"database {address_of(self.url)}"

    @property
    def spark_options(self) -> dict[str, str]:
        return {**self.properties, "url": self.url, "driver": self.driver.class_name}

    def run(self, statements: Sequence[str], *, may_fail: bool = False) -> None:
        self.driver.run(self.url, self.properties, statements, may_fail=may_fail)

    def refusal(self, insert: str, rows: Sequence[Sequence[Any]]) -> Exception | None:
        return self.driver.refusal(self.url, self.properties, insert, rows)

    def explain(self, error: BaseException, what: str) -> WindrowError:
        text = f"could not {what}: {said(error)}"
        if _OF_ROWS.search(_all_said(error)):
            hint = "CAST the column in the query to what the table holds, or widen the column; then start the job again"
            return JobError(FAILED, text, hint)
        return JobError(FAILED, text, f"see that the {self.system} can be reached and takes the rows, then start the job again")


def classify(error: BaseException) -> FailureClass:
    text = _all_said(error)
    if _OF_ROWS.search(text):
        return FailureClass.DATA
    return FailureClass.TRANSIENT if _PASSING.search(text) else FailureClass.PERMANENT


def said(error: BaseException) -> str:
    """What the database says itself, which is the innermost cause, in one line."""
    for message in reversed(_messages(error)):
        first = _CLASS.sub("", next((line.strip() for line in message.splitlines() if line.strip()), ""))
        if first:
            return first[:500]
    return type(error).__name__


def _all_said(error: BaseException) -> str:
    return "\n".join(_messages(error))


def _messages(error: BaseException) -> list[str]:
    """What an error and its causes say, outermost first.

    A driver is loaded several times, for statements, for Spark and for its executors. The bridge to Java cannot call an exception of
    one whose name it knows from another; its text then has all there is.
    """
    try:
        found = messages_of(error)
    except spark_errors():
        found = []
    if not found or any(_OTHER_CLASS in message for message in found):
        texts = [text for each in _chain(error) for text in _CAUSE.findall(str(each)) if _OTHER_CLASS not in text]
        found = texts or [str(error)]
    return found


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _no_driver(options: Mapping[str, str], jars: Sequence[Path], error: Exception) -> UsageError:
    where = f"in {', '.join(map(str, jars))}" if jars else "in the Spark session"
    message = f"there is no JDBC driver {where} for this 'url' ({error})"
    if not jars:
        return UsageError(NO_DRIVER, message, "'driver.jar' = 'drivers/your-database.jar'")
    if "driver" in options:
        return UsageError(NO_DRIVER, message, "leave 'driver' out to have the one that the jar names")
    return UsageError(NO_DRIVER, message, "see that the jar is that of the database in 'url'")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
