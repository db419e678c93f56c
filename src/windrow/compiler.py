"""From text to plan in one call: parse, catalog, checks, plan. What every face of Windrow starts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from windrow.catalog import Catalog, Relation, build_catalog
from windrow.catalog.known_columns import with_known_columns
from windrow.catalog.options import BARE_SINK
from windrow.check import check, in_order
from windrow.errors import Diagnostic, SqlError, WindrowError
from windrow.introspection import Answer, answers
from windrow.model.place import SourceText
from windrow.model.statement import CreateStream, CreateTable, Script
from windrow.plan import Plan, plan_script
from windrow.plan.explain import Format, explain
from windrow.sql import Reading, read_source, substitute, unaffected


@dataclass(frozen=True)
class Compiled:
    """A file that passed every check, with its plan."""

    script: Script
    catalog: Catalog
    plan: Plan
    # What SHOW, DESCRIBE and EXPLAIN say, in order.
    answers: tuple[Answer, ...] = ()
    # What runs and may surprise, in the order of the text.
    warnings: tuple[Diagnostic, ...] = ()

    def explain(self, format: Format = "text") -> str:  # noqa: A002  # the word users expect
        """The plan as a tree of text, as ``json`` or as a ``mermaid`` flowchart: the very stages that run."""
        return explain(self.plan, format)


def compile_sql(text: str, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Compiled:
    """Parse, check and plan a file. Raises SqlError with every diagnostic there is.

    Where ``name`` is the path of a file, Python functions are looked for beside it; else in the working folder.
    """
    return compile_source(SourceText(substitute(text, env or {}, name), name, text))


def compile_source(source: SourceText, change: Callable[[Script], Script] | None = None) -> Compiled:
    """The same of a text whose placeholders have their values; ``change`` is what an environment makes of its statements."""
    path = Path(source.name)
    folder = path.parent if path.is_file() else Path()
    reading = read_source(source)
    if reading.faults:
        raise SqlError(in_order((*reading.faults, *_faults_around(reading, folder))), source)
    return compile_script(reading.script if change is None else change(reading.script), folder=folder)


def _faults_around(reading: Reading, folder: Path) -> tuple[Diagnostic, ...]:
    """What the checks say of the statements that could be read, without what only follows from those that could not."""
    script = unaffected(reading)
    try:
        script = with_known_columns(script)
        return tuple(found for found in check(script, build_catalog(script, None, folder)) if not found.is_warning)
    except WindrowError:
        # Something outside is not as the file says. That is told when the file can be read.
        return ()


def compile_script(
    script: Script,
    extra: Mapping[str, Relation] | None = None,
    added: tuple[CreateStream | CreateTable, ...] = (),
    bare_sink: str = BARE_SINK,
    folder: Path = Path(),
) -> Compiled:
    """``extra`` are relations known from elsewhere (a case's rows); ``added`` are the sources that bring them."""
    script = with_known_columns(script)
    catalog = build_catalog(script, extra, folder)
    diagnostics = check(script, catalog)
    errors = tuple(found for found in diagnostics if not found.is_warning)
    if errors:
        raise SqlError(errors, script.source)
    whole = replace(script, statements=(*script.statements, *added))
    return Compiled(whole, catalog, plan_script(whole, catalog, bare_sink, str(folder)), answers(whole, extra), diagnostics)
