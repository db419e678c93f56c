"""``windrow demo``: the packaged ``demo.sql`` through the same machinery as any file, with a few words around it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

BEFORE = """\
This is Windrow: SQL over streams, with windows in event time, on Apache Spark. The demo runs this file:

{sql}
20,000 made-up trades come in five batches. {what} Spark takes a few seconds to start ...
"""

AFTER = """
What you saw:
  final   candles of minutes that the watermark has passed: 5 seconds behind the newest trade, because trades come out of order
  late    corrections: a trade came after its candle, but within ALLOWED_LATENESS, so the candle is {again} as revision 2, 3, ...
  WR705   trades that came even later. They are not lost: they lie in the dead letters, with all that is known of them
  WR701   trades that could not be decoded, with their raw text
The ledger counts every row once.
"""

NEXT = """
Next:  windrow explain {file}
       windrow run {file} --until-end
"""


def run_demo(*, kafka: bool = False, postgres: bool = False, postgres_url: str | None = None) -> None:
    """Runs to the end of its input in a temporary state folder, all on standard output: here status and rows are read together."""
    from windrow.cli.demo_outside import Outside, database, topics
    from windrow.cli.screen import say
    from windrow.connectors.console.runtime import console

    source = files("windrow.cli").joinpath("demo.sql")
    sql = source.read_text(encoding="utf-8")
    out = console()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="windrow-demo-")))
        outside: list[Outside] = []
        if kafka:
            outside.append(stack.enter_context(topics(folder, lambda line: say(out, line, style="dim"))))
        if postgres or postgres_url is not None:
            outside.append(stack.enter_context(database(postgres_url, lambda line: say(out, line, style="dim"))))
        for one in outside:
            sql = one.rewrite(sql)
        what = "Candles are written when their minute is over." if outside else "Candles are printed when their minute is over."
        say(out, BEFORE.format(sql="".join(f"    {line}".rstrip() + "\n" for line in sql.splitlines()), what=what))
        _run(sql, {key: value for one in outside for key, value in one.environment.items()}, folder / "state", out)
        say(out, AFTER.format(again="written again" if outside else "printed again"))
        for one in outside:
            one.show(out)
    if not outside:
        say(out, NEXT.format(file=source))


def _run(sql: str, environment: dict[str, str], state: Path, out: Console) -> None:
    from windrow.cli.letters import show_letters
    from windrow.cli.screen import say
    from windrow.cli.session import RunRequest, run_file
    from windrow.compiler import compile_sql
    from windrow.settings import load_settings

    request = RunRequest("until_end", str(state), load_settings().default_master, {}, again="windrow demo", console=out)
    run_file(compile_sql(sql, "demo.sql", environment), request)
    say(out, "")
    show_letters(state, 3, out)
