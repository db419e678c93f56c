"""What an environment makes of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.config.conftest import InEnvironment
from windrow.compiler import Compiled
from windrow.config import Environment, compile_file
from windrow.errors import SqlError
from windrow.model.query import Select
from windrow.model.statement import CreateStream, CreateStreamAs
from windrow.model.window import WindowClause

FILE = Path("queries/candles.sql")


def compiled(environment: Environment) -> Compiled:
    return compile_file(FILE.read_text(), str(FILE), environment, {})


def options(done: Compiled, name: str) -> dict[str, str]:
    statement = next(one for one in done.script.statements if isinstance(one, CreateStream | CreateStreamAs) and one.name == name)
    query = getattr(statement, "query", None)
    own = statement.options or (query.options if isinstance(query, Select) else statement.options)
    return {entry.key: entry.value for entry in own}


def window(done: Compiled) -> WindowClause:
    statement = next(one for one in done.script.statements if isinstance(one, CreateStreamAs))
    assert isinstance(statement.query, Select)
    assert statement.query.window is not None
    return statement.query.window


def test_what_is_included_goes_before_the_file(in_environment: InEnvironment) -> None:
    done = compiled(in_environment("include: sources.sql"))
    assert [job.name for job in done.plan.jobs] == ["candles"]
    assert options(done, "trades")["bootstrap.servers"] == "laptop:9092"


def test_a_named_stream_goes_before_the_text_of_the_file(in_environment: InEnvironment) -> None:
    done = compiled(in_environment("include: sources.sql\nstreams: {trades: {bootstrap.servers: 'prod:9092', format: null}}"))
    assert options(done, "trades")["bootstrap.servers"] == "prod:9092"
    # Taken away from the environment is not taken away from the file.
    assert options(done, "trades")["format"] == "json"


def test_what_names_nothing_fills_in_where_the_file_is_silent(in_environment: InEnvironment) -> None:
    text = "include: sources.sql\nwatermark: {delay: 7s}\nconnectors: {kafka: {bootstrap.servers: 'all:9092', starting.offsets: earliest}}"
    done = compiled(in_environment(text))
    found = options(done, "trades")
    assert (found["watermark.delay"], found["bootstrap.servers"], found["starting.offsets"]) == ("7s", "laptop:9092", "earliest")


def test_another_connector_leaves_the_options_of_the_one_before(in_environment: InEnvironment) -> None:
    text = """include: sources.sql
environments:
  dev: {streams: {trades: {connector: generator, rows: 5}}}
  prod: {extends: dev, streams: {trades: {connector: kafka, bootstrap.servers: 'prod:9092', topic: t}}}
"""
    dev = options(compiled(in_environment(text, "dev")), "trades")
    assert dev == {"event.time.field": "ts", "format": "json", "connector": "generator", "rows": "5"}
    prod = options(compiled(in_environment(text, "prod")), "trades")
    assert (prod["topic"], prod["bootstrap.servers"], "rows" in prod) == ("t", "prod:9092", False)


def test_windows_by_the_name_of_the_query_and_of_the_stream(in_environment: InEnvironment) -> None:
    of_stream = window(compiled(in_environment("include: sources.sql\nwindows: {trades: {size: 1m, lateness: 10s}}")))
    assert (getattr(of_stream.kind, "size", None), of_stream.allowed_lateness) == (60_000_000, 10_000_000)
    text = "include: sources.sql\nlateness: 3s\nwindows: {trades: {size: 1m}, candles: {size: 2m, trigger: EVERY 5s OR ON WATERMARK}}"
    both = window(compiled(in_environment(text)))
    assert (getattr(both.kind, "size", None), both.allowed_lateness, len(both.triggers)) == (120_000_000, 3_000_000, 2)


def test_a_length_that_windows_of_the_kind_do_not_have(in_environment: InEnvironment) -> None:
    with pytest.raises(SqlError) as caught:
        compiled(in_environment("include: sources.sql\nwindows:\n  candles: {gap: 30m}"))
    assert str(caught.value).splitlines() == [
        "[WR560] a TUMBLING window has no gap",
        "  in windrow.yaml:",
        "  3 |   candles: {gap: 30m}",
        "    |             ^^^",
        "  hint: it has: size",
    ]


def test_names_that_no_file_has_are_found_with_the_nearest(in_environment: InEnvironment) -> None:
    with pytest.raises(SqlError) as caught:
        compiled(in_environment("include: sources.sql\nstreams: {tradse: {topic: x}, candles: {topic: x}}"))
    assert [fault.code for fault in caught.value.diagnostics] == ["WR546", "WR546"]
    assert [fault.hint for fault in caught.value.diagnostics] == ['did you mean "trades"? there are: trades', "it belongs under sinks"]


def test_names_of_other_files_of_the_project_are_known(in_environment: InEnvironment) -> None:
    environment = in_environment("include: sources.sql\nsinks: {other: {connector: console}}\nwindows: {other: {size: 1m}}")
    Path("queries/other.sql").write_text("CREATE STREAM other AS SELECT COUNT(*) AS n FROM trades WINDOW TUMBLING(1h);")
    assert compiled(environment).plan.jobs


def test_an_option_that_cannot_be_is_shown_where_it_stands(in_environment: InEnvironment) -> None:
    with pytest.raises(SqlError) as caught:
        compiled(in_environment("include: sources.sql\nstreams:\n  trades:\n    watermark: {delay: soon}\n    topik: x\n"))
    shown = str(caught.value)
    assert "4 |     watermark: {delay: soon}" in shown
    assert "did you mean 'topic'" in shown
    source, (first, *_) = caught.value.source, caught.value.diagnostics
    assert first.span is not None
    assert source.name_at(first.span.start) == "windrow.yaml"


def test_faults_of_an_included_file_are_shown_in_it(in_environment: InEnvironment) -> None:
    environment = in_environment("include: sources.sql")
    Path("sources.sql").write_text("CREATE STREAM trades (symbol STRING, price DOUBEL) WITH ('connector' = 'generator');")
    with pytest.raises(SqlError) as caught:
        compiled(environment)
    assert "in sources.sql:" in str(caught.value)


def test_an_included_query_that_nothing_reads_does_not_run(in_environment: InEnvironment) -> None:
    environment = in_environment("include: sources.sql")
    Path("sources.sql").write_text(Path("sources.sql").read_text() + "CREATE STREAM cheap AS SELECT * FROM trades WHERE price < 5;\n")
    assert [statement.name for statement in compiled(environment).script.statements if isinstance(statement, CreateStreamAs)] == ["candles"]
    FILE.write_text("CREATE STREAM few AS SELECT symbol FROM cheap;")
    done = compiled(environment)
    assert [statement.name for statement in done.script.statements if isinstance(statement, CreateStreamAs)] == ["cheap", "few"]
    assert len(done.plan.jobs) == 1
