"""``windrow explain``: the plan that ``run`` would execute."""

from __future__ import annotations

from windrow.cli.arguments import Shape, ShapeOption, SqlFile
from windrow.cli.files import read_sql, shown_name


def explain_file(file: SqlFile, shape: ShapeOption = Shape.text) -> None:
    """Show how a file would run, and why so, without starting Spark."""
    from windrow.compiler import compile_sql
    from windrow.plan.explain import explain
    from windrow.settings import environment

    compiled = compile_sql(read_sql(file), shown_name(file), environment())
    print(explain(compiled.plan, shape.value))
