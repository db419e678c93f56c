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

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.allocator import keep_memory
from windrow.errors import JobError, SqlError, UsageError, WindrowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from windrow.compiling import Compiled
    from windrow.jobs import Jobs
    from windrow.jobs.options import Mode

__version__ = "0.1.0"
__all__ = ["JobError", "SqlError", "UsageError", "WindrowError", "compile", "run"]

# Before anything imports Polars, which reads it once.
keep_memory()


def compile(sql: str, *, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Compiled:  # noqa: A001  # the name users expect
    """Parse, check and plan SQL text. Raises SqlError with every diagnostic at once. Starts no Spark."""
    from windrow.compiling import compile_sql
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
) -> Jobs:
    """Run SQL text, or what ``compile`` gave, and return at once with a handle: ``status()``, ``stop()``, ``await_end()``."""
    from windrow.jobs import RunOptions, start

    compiled = compile(sql) if isinstance(sql, str) else sql
    return start(compiled, RunOptions(mode, state, master, settings or {}), spark)
