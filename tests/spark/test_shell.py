"""The shell runs a SELECT live, until Ctrl-C, and comes back to its prompt."""

from __future__ import annotations

from pathlib import Path

from tests.unit.cli.terminal import Terminal


def test_a_select_runs_until_it_is_interrupted(tmp_path: Path) -> None:
    with Terminal("sql", "--master", "local[1]", folder=tmp_path) as terminal:
        terminal.wait_for("windrow>")
        terminal.type("CREATE STREAM t (a INT) WITH ('connector' = 'generator', 'rows.per.second' = '5');\r")
        terminal.wait_for("stream t created")
        terminal.wait_for("windrow>")
        terminal.type("SELECT a, 'seen' AS b FROM t;\r")
        terminal.wait_for("   seen ", 120)
        terminal.interrupt()
        terminal.wait_for("windrow>", 60)
        terminal.type("SELECT a FROM t LIMIT 1;\r")
        terminal.wait_for("out · batch", 60)
        terminal.wait_for("windrow>", 60)
        terminal.type("\\q\r")
        assert terminal.ended() == 0
