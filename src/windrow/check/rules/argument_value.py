"""WR225: literal arguments that can never be right."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise

from windrow.aggregates.approximate import LEAST_DEVIATION
from windrow.aggregates.sketches import GREATEST_ERROR, LEAST_ERROR, MOST_TRACKED, SHOWN, TRACKED
from windrow.catalog.names import closest
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Call, Expr, Literal, Unary
from windrow.sql import render_expr
from windrow.sql.words import UNIT_SPELLINGS, UNITS

# Where each function has its share of rows.
_SHARES = {
    "percentile_cont": 0,
    "percentile_disc": 0,
    "percentile": 1,
    "percentile_approx": 1,
    "approx_percentile": 1,
    "percentile_sketch": 1,
}


# The parts of a time and the units that Spark knows.
_TRUNCATED = frozenset("YEAR YYYY YY QUARTER MONTH MON MM WEEK DAY DD HOUR MINUTE SECOND MILLISECOND MICROSECOND".split())
_FIELDS = frozenset(
    (
        "YEAR Y YEARS YR YRS YEAROFWEEK QUARTER QTR MONTH MON MONS MONTHS WEEK W WEEKS DAY D DAYS DAYOFWEEK DOW DAYOFWEEK_ISO DOW_ISO DOY "
        "HOUR H HOURS HR HRS MINUTE M MIN MINS MINUTES SECOND S SEC SECONDS SECS"
    ).split()
)
_UNITS = {"date_trunc": _TRUNCATED, "date_part": _FIELDS, "datepart": _FIELDS, "extract": _FIELDS}
_COMPUTED = {
    **dict.fromkeys(("MILLISECOND", "MILLISECONDS"), "EXTRACT(SECOND FROM {0}) * 1000"),
    **dict.fromkeys(("MICROSECOND", "MICROSECONDS"), "EXTRACT(SECOND FROM {0}) * 1000000"),
    "DECADE": "FLOOR(YEAR({0}) / 10)",
    "CENTURY": "CEIL(YEAR({0}) / 100)",
    "MILLENNIUM": "CEIL(YEAR({0}) / 1000)",
}


def argument_value(context: Context) -> Iterator[Diagnostic]:
    for node, _, _, _ in context.nodes():
        if isinstance(node, Call):
            yield from _judge(node)


def _judge(call: Call) -> Iterator[Diagnostic]:
    name = call.name.lower()
    if name in ("lag", "lead") and len(call.args) > 1:
        offset = _number(call.args[1])
        if offset is not None and offset < 0:
            other = "LEAD" if name == "lag" else "LAG"
            message = f"the offset of {call.name} cannot be negative"
            yield Diagnostic("WR225", message, call.args[1].span or call.span, f"write {abs(offset)}, or use {other} to look the other way")
        elif offset is not None and offset != int(offset):
            yield Diagnostic("WR225", f"the offset of {call.name} must be a whole number", call.args[1].span or call.span, "write 1")
    least_one = {"ntile": 0, "nth_value": 1}.get(name)
    if least_one is not None and len(call.args) > least_one:
        count = _number(call.args[least_one])
        if count is not None and count < 1:
            yield Diagnostic("WR225", f"{call.name} needs a count of 1 or more", call.args[least_one].span or call.span, "write 1")
    yield from _shares(call, _SHARES.get(name))
    yield from _sketched(call)
    if name == "histogram":
        yield from _bounds(call)
    if name in _UNITS and len(call.args) == 2:
        yield from _unit(call, _UNITS[name])
    if name == "ewma" and len(call.args) > 1:
        weight = _number(call.args[1])
        if weight is not None and not 0 < weight <= 1:
            yield Diagnostic("WR225", f"{call.name} needs a weight above 0 and up to 1", call.args[1].span or call.span, "write 0.3")
    if name == "approx_count_distinct" and len(call.args) > 1:
        deviation = _number(call.args[1])
        if deviation is not None and deviation < Decimal(str(LEAST_DEVIATION)):
            message = f"{call.name} cannot promise a relative deviation below {LEAST_DEVIATION}"
            yield Diagnostic("WR225", message, call.args[1].span or call.span, "use COUNT(DISTINCT ...), which is exact")


def _sketched(call: Call) -> Iterator[Diagnostic]:
    """The size of a sketch, and the error that it is to keep."""
    name = call.name.lower()
    if name == "hll_sketch_agg":
        yield from _within(call, 1, Decimal(4), Decimal(21), "a size, the logarithm of its places,", "write 12, which is off by 1.6 %")
    elif name == "percentile_sketch":
        least, most = Decimal(str(LEAST_ERROR)), Decimal(str(GREATEST_ERROR))
        yield from _within(call, 2, least, most, "a relative error", "write 0.01, for 1 % of the value")
    elif name == "approx_top_k":
        yield from _within(call, 2, Decimal(1), Decimal(MOST_TRACKED), "a number of tracked values", f"write {TRACKED}")
        tracked = _number(call.args[2]) if len(call.args) > 2 else None
        most = Decimal(TRACKED) if tracked is None else tracked
        yield from _within(call, 1, Decimal(1), most, "a number of values", f"write {min(SHOWN, most)}")


def _within(call: Call, position: int, least: Decimal, most: Decimal, what: str, hint: str) -> Iterator[Diagnostic]:
    if len(call.args) <= position:
        return
    value = _number(call.args[position])
    if value is None or not least <= value <= most or (least == int(least) and value != int(value)):
        yield Diagnostic("WR225", f"{call.name} needs {what} from {least:f} to {most:f}", call.args[position].span or call.span, hint)


def _shares(call: Call, position: int | None) -> Iterator[Diagnostic]:
    if position is None or len(call.args) <= position:
        return
    argument = call.args[position]
    shares = argument.args if isinstance(argument, Call) and argument.name.lower() == "array" else (argument,)
    for node in shares:
        share = _number(node)
        if share is not None and not 0 <= share <= 1:
            message = f"{call.name} needs a share from 0 to 1"
            yield Diagnostic("WR225", message, node.span or call.span, "write 0.95 for the 95th percentile")


def _bounds(call: Call) -> Iterator[Diagnostic]:
    """Each bound is above the one before it."""
    for lower, upper in pairwise(call.args[1:]):
        low, high = _number(lower), _number(upper)
        if low is not None and high is not None and high <= low:
            yield Diagnostic(
                "WR225",
                f"{call.name} needs bounds that rise, and {high} is not above {low}",
                upper.span or call.span,
                "write 100, 500, 1000",
            )


def _unit(call: Call, known: frozenset[str]) -> Iterator[Diagnostic]:
    """A unit or a part of a time that Spark has no word for; it would give NULL, or stop the job."""
    unit, time = call.args
    if not isinstance(unit, Literal) or not isinstance(unit.value, str) or unit.value.upper() in known:
        return
    named = unit.value.upper()
    if known is _FIELDS and named in _COMPUTED:
        hint = f"write {_COMPUTED[named].format(render_expr(time))}"
    else:
        meant = UNIT_SPELLINGS.get(named) or next(iter(closest(named, sorted(known))), None)
        hint = f"write '{meant}'" if meant in known else f"write one of {', '.join(word for word in UNITS if word in known)}"
    yield Diagnostic("WR225", f"{call.name} knows no '{unit.value}'", unit.span or call.span, hint)


def _number(node: Expr) -> Decimal | None:
    if isinstance(node, Unary) and node.op == "-":
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, Literal) and isinstance(node.value, int | float | Decimal) and not isinstance(node.value, bool):
        return Decimal(str(node.value))
    return None
