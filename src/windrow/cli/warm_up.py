"""``windrow warm-up``: what Java loads for Spark is kept in an archive, so that later runs start sooner."""

from __future__ import annotations

# Reads, groups, windows and prints, as most jobs do.
_SQL = """
CREATE STREAM ticks (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = '{folder}', 'format' = 'json', 'event.time.field' = 'ts');
CREATE STREAM high AS SELECT symbol, MAX(price) AS high FROM ticks GROUP BY symbol WINDOW TUMBLING(1m)
  WITH ('connector' = 'files', 'path' = '{folder}/high', 'format' = 'json');
CREATE STREAM dear AS SELECT symbol, price FROM ticks WHERE price > 1
  WITH ('connector' = 'files', 'path' = '{folder}/dear', 'format' = 'json');
"""
_ROW = '{"symbol": "ACME", "price": 2.5, "ts": "2026-01-05T09:30:02Z"}\n'
_END_SECONDS = 300.0


def warm_up() -> None:
    """Keep what Java loads for Spark in an archive, so that later runs start sooner. Run it once, and again after an update."""
    import tempfile
    from pathlib import Path

    from windrow.cli import codes
    from windrow.cli.screen import say, screen
    from windrow.cli.spark_start import start_spark
    from windrow.compiler import compile_sql
    from windrow.errors import JobError, UsageError
    from windrow.java import ensure_java
    from windrow.jobs import RunOptions, start
    from windrow.spark.internals.class_archive import archive_path, writing_option
    from windrow.spark.internals.java_process import JavaProcess
    from windrow.spark.session import LOCAL_JAVA_OPTIONS

    console = screen()
    archive = archive_path(ensure_java(install=False))
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        archive.unlink(missing_ok=True)
    except OSError as error:
        hint = "set WINDROW_CACHE to a folder that can be written"
        raise UsageError(codes.BAD_VALUE, f"{archive.parent} cannot be written: {error.strerror}", hint) from None
    say(console, "starting Spark and running a small job, which takes a little longer than usual ...", style="dim")
    with tempfile.TemporaryDirectory(prefix="windrow-warm-up-") as name:
        Path(name, "in").mkdir()
        Path(name, "in", "1.json").write_text(_ROW * 3)
        options = f"{LOCAL_JAVA_OPTIONS} {writing_option(archive)}"
        spark = start_spark("local[*]", {"spark.driver.extraJavaOptions": options})
        java = JavaProcess.of(spark)
        compiled = compile_sql(_SQL.format(folder=Path(name, "in")))
        start(compiled, RunOptions("until_end", Path(name, "state")), spark).await_end()
        spark.stop()
        java.end()
        # Java writes the archive on its way out.
        has_ended = java.has_ended(_END_SECONDS)
    if not has_ended or not archive.is_file():
        raise JobError(codes.NO_SPARK, "Java ended without writing an archive of its classes", "runs start as before, without it")
    say(console, f"kept {archive.stat().st_size / 1e6:,.0f} MB in {archive}; delete the file to do without")
