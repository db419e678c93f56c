"""Model -> diagnostics: everything wrong with a script, found before anything runs.

Takes a parsed script and its catalog, gives diagnostics with their places and hints, sorted by place. One rule a file, listed in order
below. Must not know: Spark, the network, clocks, the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from windrow.catalog.schema import Catalog
from windrow.check.blocks import Context, build_context
from windrow.check.rules.ambiguous_from import ambiguous_from
from windrow.check.rules.annotation import annotation
from windrow.check.rules.argument_count import argument_count
from windrow.check.rules.argument_type import argument_type
from windrow.check.rules.argument_value import argument_value
from windrow.check.rules.as_of import as_of
from windrow.check.rules.asof_join import asof_join
from windrow.check.rules.call_modifier import call_modifier
from windrow.check.rules.changes import changes
from windrow.check.rules.circular_definition import circular_definition
from windrow.check.rules.condition import condition
from windrow.check.rules.constant_argument import constant_argument
from windrow.check.rules.constraint import constraint
from windrow.check.rules.drop import drop
from windrow.check.rules.duplicate_column import duplicate_column
from windrow.check.rules.duplicate_definition import duplicate_definition
from windrow.check.rules.duplicate_output import duplicate_output
from windrow.check.rules.emission_group import together
from windrow.check.rules.generator import generator_rule
from windrow.check.rules.header_change import header_change
from windrow.check.rules.history import history
from windrow.check.rules.insert import insert
from windrow.check.rules.join_bound import join_bound
from windrow.check.rules.join_condition import join_condition
from windrow.check.rules.join_shape import join_shape
from windrow.check.rules.letter_rule import letter_rule
from windrow.check.rules.limit import limit
from windrow.check.rules.listed_column import listed_column
from windrow.check.rules.misplaced_aggregate import misplaced_aggregate
from windrow.check.rules.no_source import no_source
from windrow.check.rules.not_grouped import not_grouped
from windrow.check.rules.operand_type import operand_type
from windrow.check.rules.option import option
from windrow.check.rules.option_side import option_side
from windrow.check.rules.ordinal import ordinal
from windrow.check.rules.outage import outage
from windrow.check.rules.over import over
from windrow.check.rules.python_function import python_function
from windrow.check.rules.reserved_column import reserved_column
from windrow.check.rules.star import star
from windrow.check.rules.subquery import subquery
from windrow.check.rules.table_key import table_key
from windrow.check.rules.table_refresh import table_refresh
from windrow.check.rules.time_zone import time_zone
from windrow.check.rules.union import union
from windrow.check.rules.unknown_column import unknown_column
from windrow.check.rules.unknown_definition_column import unknown_definition_column
from windrow.check.rules.unknown_function import unknown_function
from windrow.check.rules.unknown_relation import unknown_relation
from windrow.check.rules.unsupported import unsupported
from windrow.check.rules.variant_output import variant_output
from windrow.check.rules.window_length import window_length
from windrow.check.rules.window_purpose import window_purpose
from windrow.check.rules.window_time import window_time
from windrow.check.warnings.default_place import default_place
from windrow.check.warnings.growing_groups import growing_groups
from windrow.check.warnings.null_comparison import null_comparison
from windrow.check.warnings.order_of_arrival import order_of_arrival
from windrow.check.warnings.time_pattern import time_pattern
from windrow.check.warnings.unbounded_order import unbounded_order
from windrow.errors import Diagnostic
from windrow.model.statement import Script

__all__ = ["RULES", "WARNINGS", "check", "in_order"]

Rule = Callable[[Context], Iterable[Diagnostic]]

RULES: tuple[Rule, ...] = (
    duplicate_definition,
    drop,
    circular_definition,
    duplicate_column,
    reserved_column,
    listed_column,
    changes,
    unknown_relation,
    no_source,
    ambiguous_from,
    unknown_definition_column,
    unknown_column,
    duplicate_output,
    variant_output,
    star,
    python_function,
    unknown_function,
    argument_count,
    argument_type,
    argument_value,
    constant_argument,
    call_modifier,
    operand_type,
    condition,
    constraint,
    misplaced_aggregate,
    not_grouped,
    over,
    together,
    ordinal,
    window_purpose,
    window_time,
    window_length,
    join_bound,
    join_condition,
    as_of,
    history,
    asof_join,
    union,
    subquery,
    generator_rule,
    insert,
    table_key,
    table_refresh,
    limit,
    option_side,
    time_zone,
    header_change,
    option,
    outage,
    annotation,
    letter_rule,
    join_shape,
    unsupported,
)

WARNINGS: tuple[Rule, ...] = (unbounded_order, order_of_arrival, growing_groups, default_place, null_comparison, time_pattern)
"""Rules about what runs and may surprise; asked only where nothing is wrong."""


def check(script: Script, catalog: Catalog) -> tuple[Diagnostic, ...]:
    """Everything wrong with a script, in the order of its text; where nothing is, what may surprise."""
    try:
        context = build_context(script, catalog)
        found = [diagnostic for rule in RULES for diagnostic in rule(context)]
        if not found:
            unseen = replace(context, has_unseen=True)
            found = [diagnostic for rule in (join_bound, join_shape) for diagnostic in rule(unseen)]
        found = found or [diagnostic for rule in WARNINGS for diagnostic in rule(context)]
    except RecursionError:
        hint = "split the deepest expression over several streams"
        return (Diagnostic("WR299", "this file is nested too deeply to be checked", None, hint),)
    return in_order(found)


def in_order(found: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Each diagnostic once, in the order of the text."""
    return tuple(sorted(dict.fromkeys(found), key=_place))


def _place(diagnostic: Diagnostic) -> tuple[int, int, str]:
    span = diagnostic.span
    return (-1, -1, diagnostic.code) if span is None else (span.start, span.end, diagnostic.code)
