"""What streams expect of their rows, as part of the plan: a source judges rows as it reads them, a query those that it gives."""

from __future__ import annotations

from dataclasses import replace

from windrow.catalog.binding import bind_select
from windrow.catalog.relation import Names
from windrow.model.constraint import Constraint
from windrow.model.expr import Expr, Star
from windrow.model.options import Options
from windrow.model.query import NamedSource, Select, SelectItem
from windrow.model.types import ColumnDef
from windrow.plan.scoped import open_variants
from windrow.plan.sources import is_strict
from windrow.plan.stages import Expect


def before_expectations(stream: str) -> str:
    """What the stage is called whose rows the constraints of a stream judge.

    >>> before_expectations("hot")
    'hot/rows'
    """
    return f"{stream}/rows"


def bound_constraints(stream: str, constraints: tuple[Constraint, ...], names: Names, options: Options) -> tuple[Constraint, ...]:
    """Constraints with conditions as the engine evaluates them: what a query over the stream would have in its WHERE."""
    return tuple(replace(each, condition=_bound(stream, each.condition, names, options)) for each in constraints)


def _bound(stream: str, condition: Expr, names: Names, options: Options) -> Expr:
    select = Select((SelectItem(Star()),), NamedSource(stream), where=condition)
    bound = bind_select(open_variants(select, names, is_strict=is_strict(options)), names).where
    assert bound is not None
    return bound


def plan_expectations(
    name: str, input_name: str, constraints: tuple[Constraint, ...], columns: tuple[ColumnDef, ...], names: Names, options: Options
) -> Expect:
    bound = bound_constraints(name, constraints, names, options)
    return Expect(name, input_name, columns, bound, is_strict(options), "each row is judged by what the stream expects of it")
