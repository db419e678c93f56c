"""Windrow: streaming SQL with event-time windows, on Apache Spark.

>>> import windrow
>>> compiled = windrow.compile('''
...     CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT)
...       WITH ('connector' = 'generator', 'event.time.field' = 'ts', 'rows' = '100');
...     SELECT symbol, MAX(price) AS high FROM trades GROUP BY symbol WINDOW TUMBLING(1m);
... ''')
>>> [job.name for job in compiled.plan]
['out']
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from windrow.allocator import keep_memory
from windrow.errors import JobError, SqlError, UsageError, WindrowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.compiler import Compiled
    from windrow.jobs import Jobs
    from windrow.jobs.options import Mode
    from windrow.jobs.rows import Rows

__version__ = "0.1.0"
__all__ = ["JobError", "SqlError", "UsageError", "WindrowError", "compile", "run", "sql"]

# Before anything imports Polars, which reads it once.
keep_memory()


def compile(sql: str, *, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Compiled:  # noqa: A001  # the name users expect
    """Parse, check and plan SQL text. Raises SqlError with every diagnostic at once. Starts no Spark."""
    from windrow.compiler import compile_sql
    from windrow.settings import environment

    return compile_sql(sql, name, environment() if env is None else env)


def run(
    sql: str | Compiled,
    *,
    spark: SparkSession | None = None,
    mode: Mode = "continuous",
    state: Path | str = Path(".windrow/notebook"),
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    keep: int = 0,
    listen: str | None = None,
    listen_token: str | None = None,
) -> Jobs:
    """Run SQL text, or what ``compile`` gave, and return at once with a handle: ``status()``, ``stop()``, ``await_end()``.

    With ``keep``, so many of the newest rows of each output are kept for ``output(name)`` and ``preview()`` of the handle. ``listen``
    (such as ``"127.0.0.1:9464"``) serves metrics, health and status there; another address than loopback needs a token.
    """
    from windrow.jobs import RunOptions, start

    compiled = compile(sql) if isinstance(sql, str) else sql
    options = RunOptions(mode, state, master, settings or {}, keep_rows=keep)
    if listen is None:
        return start(compiled, options, spark)
    from windrow.serving import Serving, parse_listen
    from windrow.settings import load_settings

    serving = Serving(parse_listen(listen, listen_token or load_settings().listen_token), options.stalled_after)
    try:
        return start(compiled, options, spark, serving=serving)
    except BaseException:
        serving.close()
        raise


def sql(
    text: str,
    *,
    name: str | None = None,
    spark: SparkSession | None = None,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    keep: int = 1_000_000,
    show: bool | None = None,
) -> Rows:
    """Run SQL over what is there, to its end, and give the rows of the last statement, or of the one that ``name`` names.

    Nothing is remembered between two calls. Without ``spark`` it runs in the active session, or in one that it makes and leaves open.
    A plain SELECT prints nothing; statements that name an output write to it as well.
    """
    import tempfile

    from windrow.compiler import compile_script
    from windrow.jobs import RunOptions, start
    from windrow.settings import environment
    from windrow.spark.session import make_session
    from windrow.sql import parse

    compiled = compile_script(parse(text, "<sql>", environment() if env is None else env), bare_sink="memory")
    session = spark or _active_session() or make_session(master, {k: v for k, v in (settings or {}).items() if k.startswith("spark.")})
    with tempfile.TemporaryDirectory(prefix="windrow-sql-", ignore_cleanup_errors=True) as state:
        jobs = start(compiled, RunOptions("until_end", state, master, settings or {}, keep_rows=keep), session)
        try:
            jobs.await_end(show=show)
        finally:
            jobs.stop()
        return jobs.output(name)


def _active_session() -> SparkSession | None:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


class _Package(ModuleType):
    """This package. The import of ``windrow.sql``, which holds the parser, binds that name here, where it belongs to the function."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "sql" or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
