"""The shell: from a pipe, at a prompt, and what it completes. Queries run in tests/spark/test_shell.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow
from tests.unit.cli.terminal import Terminal
from windrow.catalog import Catalog
from windrow.cli.shell.commands import COMMANDS
from windrow.cli.shell.session import Done, Query, ShellSession
from windrow.errors import SqlError
from windrow.introspection.words import completions

CREATE = "CREATE STREAM trades (symbol STRING, price DOUBLE) WITH ('connector' = 'generator');\n"


def session(*texts: str) -> ShellSession:
    made = ShellSession(Path())
    for text in texts:
        list(made.submit(text))
    return made


def test_statements_add_up() -> None:
    made = session(CREATE, "CREATE STREAM big AS SELECT * FROM trades WHERE price > 1;")
    (query,) = made.submit("SELECT symbol FROM big LIMIT 3;")
    assert isinstance(query, Query)
    assert (query.name, query.limit) == ("out", 3)
    assert [job.name for job in query.compiled.plan] == ["big+out"]


def test_a_select_runs_without_the_sinks_of_others() -> None:
    made = session(CREATE, "CREATE STREAM big AS SELECT * FROM trades WITH ('connector' = 'console');", "SELECT * FROM trades;")
    (query,) = made.submit("SELECT symbol FROM trades")
    assert isinstance(query, Query)
    assert [write.input for job in query.compiled.plan for write in job.writes] == ["out"]


def test_what_is_dropped_is_forgotten() -> None:
    made = session(CREATE, "CREATE STREAM big AS SELECT * FROM trades;", "DROP STREAM big;")
    assert list(made.submit("CREATE STREAM big AS SELECT symbol FROM trades;")) == [Done("stream big created")]
    assert len(made.statements) == 2


def test_an_error_is_shown_in_the_text_that_was_typed() -> None:
    with pytest.raises(SqlError, match=r"1 \| SELECT prise FROM trades") as caught:
        list(session(CREATE, "SHOW STREAMS;").submit("SELECT prise FROM trades;"))
    assert "^^^^^\n" in str(caught.value)


def test_an_error_about_an_earlier_statement_shows_no_wrong_place() -> None:
    made = session("CREATE STREAM t (a INT) WITH ('connector' = 'files', 'path' = 'in', 'watermark.delay' = '1s');", CREATE)
    with pytest.raises(SqlError) as caught:
        list(made.submit("INSERT INTO t SELECT 1 FROM trades;"))
    assert 'unknown option "watermark.delay"' in str(caught.value)
    assert "|" not in str(caught.value)


def test_what_is_wrong_changes_nothing() -> None:
    made = session(CREATE)
    with pytest.raises(SqlError):
        list(made.submit("CREATE STREAM big AS SELECT nothing FROM trades;"))
    assert len(made.statements) == 1


def test_a_pipe(windrow: Windrow) -> None:
    done = windrow("sql", stdin=CREATE + "SHOW\n  STREAMS;\n\\d trades\n\\explain SELECT symbol FROM trades\n\\nonsense\n\\q\nSHOW TABLES;")
    assert done.exit_code == 0
    assert done.stdout.startswith(
        "stream trades created\nname    columns                      from\ntrades  symbol STRING, price DOUBLE  generator\n"
    )
    assert "stream trades, from generator" in done.stdout
    assert "filter and project out" in done.stdout
    assert "there is no command \\nonsense" in done.stdout
    assert "no tables" not in done.stdout


def test_a_pipe_goes_on_after_an_error_and_remembers_it(windrow: Windrow) -> None:
    done = windrow("sql", stdin="SELECT a FROM nothing;\n;\nSHOW STREAMS")
    assert done.exit_code == 2
    assert "[WR210]" in done.stderr
    assert done.stdout == "no streams\n\n"


def test_a_file_brings_its_definitions(windrow: Windrow) -> None:
    Path("q.sql").write_text(CREATE + "SELECT * FROM trades;")
    assert "trades  symbol" in windrow("sql", "q.sql", stdin="SHOW STREAMS;").stdout
    Path("bad.sql").write_text("SELECT")
    assert windrow("sql", "bad.sql", stdin="SHOW STREAMS;").exit_code == 2


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("SELECT sy", {"symbol"}),
        ("SELECT * FROM ", {"trades"}),
        ("\\d tr", {"trades"}),
        ("SHOW STRE", {"STREAM", "STREAMS"}),
        ("SELECT percentile_c", {"PERCENTILE_CONT("}),
        ("\\e", {"\\explain"}),
        ("SELECT _window_s", {"_window_start"}),
    ],
)
def test_completion(text: str, offered: set[str]) -> None:
    _, found = completions(text, session(CREATE).catalog(), tuple(COMMANDS))
    assert {word.text for word in found} == offered


def test_nothing_is_offered_before_a_word_is_begun() -> None:
    assert completions("SELECT ", Catalog()) == ("", [])


def test_a_prompt(tmp_path: Path) -> None:
    with Terminal("sql", folder=tmp_path) as terminal:
        terminal.wait_for("windrow>")
        terminal.type("CREATE STREAM trades (symbol STRING)\r")
        terminal.wait_for("->")
        terminal.type("WITH ('connector' = 'generator');\r")
        terminal.wait_for("stream trades created")
        terminal.wait_for("windrow>")
        terminal.type("SELECT symbl FROM trades;\r")
        terminal.wait_for("[WR214]")
        terminal.wait_for("^^^^^")
        terminal.wait_for("windrow>")
        terminal.type("half a thought\x03")
        terminal.wait_for("windrow>")
        terminal.type("\\d\r")
        terminal.wait_for("trades  symbol STRING  generator")
        terminal.wait_for("windrow>")
        terminal.type("DESCRIBE tra\t")
        terminal.wait_for("des")
        terminal.type(";\r")
        terminal.wait_for("stream trades, from generator")
        terminal.wait_for("windrow>")
        terminal.type("\\q\r")
        assert terminal.ended() == 0
    assert "+SELECT symbl FROM trades;" in (tmp_path / "home" / "windrow" / "history").read_text()
