"""By which columns a sink finds a row of windows again."""

from __future__ import annotations

import pytest

from windrow.catalog import build_catalog, keys
from windrow.model.statement import CreateStreamAs
from windrow.sql import parse

_SOURCE = "CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'memory'); CREATE STREAM o AS "


@pytest.mark.parametrize(
    ("select", "key"),
    [
        ("SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(10s)", ("k", "s")),
        ("SELECT k, _window_end AS e, COUNT(*) AS n FROM t GROUP BY k WINDOW SLIDING(10s, 5s)", ("k", "e")),
        # Its windows start together.
        ("SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n FROM t GROUP BY k WINDOW CUMULATE(5s, 10s)", ("k", "e")),
        ("SELECT k, _window_start AS s, COUNT(*) AS n FROM t GROUP BY k WINDOW CUMULATE(5s, 10s)", ()),
        ("SELECT k, _window_start AS s, COUNT(*) AS n FROM t GROUP BY k WINDOW ROWS(3)", ()),
        # Many rows share a window.
        ("SELECT k, v, _window_start AS s FROM t WINDOW TUMBLING(10s)", ()),
        ("SELECT DISTINCT k, _window_start AS s FROM t WINDOW TUMBLING(10s)", ()),
        ("SELECT k PRIMARY KEY, v, _window_start AS s FROM t WINDOW TUMBLING(10s)", ("k",)),
    ],
)
def test_the_key_of_windows(select: str, key: tuple[str, ...]) -> None:
    script = parse(_SOURCE + select)
    statement = script.statements[-1]
    assert isinstance(statement, CreateStreamAs)
    assert keys.written_key(statement.query, build_catalog(script)) == key
