"""``windrow demo``: the packaged ``demo.sql`` through the same machinery as any file, with a few words around it."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path

BEFORE = """\
This is Windrow: SQL over streams, with windows in event time, on Apache Spark. The demo runs this file:

{sql}
20,000 made-up trades come in five batches. Candles are printed when their minute is over. Spark takes a few seconds to start ...
"""

AFTER = """
What you saw:
  final   candles of minutes that the watermark has passed: 5 seconds behind the newest trade, because trades come out of order
  late    corrections: a trade came after its candle, but within ALLOWED_LATENESS, so the candle is printed again as revision 2, 3, ...
  WR705   trades that came even later. They are not lost: they lie in the dead letters, with all that is known of them
  WR701   trades that could not be decoded, with their raw text
The ledger counts every row once.

Next:  windrow explain {file}
       windrow run {file} --until-end
"""


def run_demo() -> None:
    """Runs to the end of its input in a temporary state folder, all on standard output: here status and rows are read together."""
    from windrow.cli.letters import show_letters
    from windrow.cli.screen import say
    from windrow.cli.session import RunRequest, run_file
    from windrow.compiling import compile_sql
    from windrow.connectors.console.runtime import console
    from windrow.settings import load_settings

    source = files("windrow.cli").joinpath("demo.sql")
    sql = source.read_text(encoding="utf-8")
    out = console()
    say(out, BEFORE.format(sql="".join(f"    {line}".rstrip() + "\n" for line in sql.splitlines())))
    with tempfile.TemporaryDirectory(prefix="windrow-demo-") as folder:
        request = RunRequest("until_end", str(Path(folder, "demo")), load_settings().default_master, {}, again="windrow demo", console=out)
        run_file(compile_sql(sql, "demo.sql", {}), request)
        say(out, "")
        show_letters(Path(request.state), 3, out)
    say(out, AFTER.format(file=source))
