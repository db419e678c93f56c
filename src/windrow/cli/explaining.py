"""``windrow explain``: the plan that ``run`` would execute."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from windrow.cli.files import read_sql, shown_name


class Shape(str, Enum):
    text = "text"
    json = "json"
    mermaid = "mermaid"


def explain_file(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A SQL file; - reads standard input.", show_default=False)],
    shape: Annotated[Shape, typer.Option("--format", help="A tree, JSON, or a Mermaid flowchart.")] = Shape.text,
) -> None:
    """Show how a file would run, and why so, without starting Spark."""
    from windrow.compiling import compile_sql
    from windrow.plan.explain import explain
    from windrow.settings import environment

    compiled = compile_sql(read_sql(file), shown_name(file), environment())
    print(explain(compiled.plan, shape.value))  # type: ignore[arg-type]  # the values of Shape are the formats
