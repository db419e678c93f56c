"""Expressions as text in one canonical form: the names of unnamed output columns, and what messages quote."""

from __future__ import annotations

from decimal import Decimal

from windrow.model.expr import (
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Field,
    Index,
    InList,
    InQuery,
    Interval,
    IsDistinct,
    IsNull,
    Lambda,
    Like,
    Literal,
    Node,
    Over,
    OverSpec,
    Path,
    ScalarQuery,
    Slot,
    SortKey,
    Star,
    Unary,
)

_UNITS = ((86_400_000_000, "DAY"), (3_600_000_000, "HOUR"), (60_000_000, "MINUTE"), (1_000_000, "SECOND"), (1_000, "MILLISECOND"))


def render(node: Node) -> str:
    """The text of an expression, with function names and keywords in upper case.

    >>> render(Call("count", (Star(),)))
    'COUNT(*)'
    >>> render(Binary("+", Column("a", "t"), Literal(1)))
    't.a + 1'
    """
    match node:
        case Literal() | Interval() | Column() | Star() | Slot():
            return _atom(node)
        case Call():
            return _call(node)
        case Over(call=call, spec=spec):
            return f"{render(call)} OVER ({_over(spec)})"
        case SortKey(expr=expr, descending=descending):
            return render(expr) + (" DESC" if descending else "")
        case Unary(op=op, operand=operand):
            return f"{op} {_inner(operand)}" if op == "NOT" else f"{op}{_inner(operand)}"
        case Binary(op=op, left=left, right=right):
            return f"{_inner(left)} {op} {_inner(right)}"
        case Cast(operand=operand, type=type_, is_try=is_try):
            return f"{'TRY_CAST' if is_try else 'CAST'}({render(operand)} AS {type_})"
        case Case():
            return _case(node)
        case Index(base=base, key=key):
            return f"{_inner(base)}[{render(key)}]"
        case Field(base=base, name=name):
            return f"{_inner(base)}.{name}"
        case Path(base=base, path=path):
            return f"{_inner(base)}:{path.removeprefix('$').removeprefix('.')}"
        case Lambda(parameters=parameters, body=body):
            names = parameters[0] if len(parameters) == 1 else f"({', '.join(parameters)})"
            return f"{names} -> {render(body)}"
        case _:
            return _predicate(node)


def _atom(node: Node) -> str:
    match node:
        case Literal(value=value):
            return _literal(value)
        case Interval(micros=micros):
            unit = next(((size, word) for size, word in _UNITS if micros % size == 0), (1, "MICROSECOND"))
            return f"INTERVAL '{micros // unit[0]}' {unit[1]}"
        case Column(name=name, qualifier=None) | Slot(name=name):
            return name
        case Column(name=name, qualifier=qualifier):
            return f"{qualifier}.{name}"
        case Star(qualifier=qualifier):
            return f"{qualifier}.*" if qualifier else "*"
        case _:
            return "?"


def _predicate(node: Node) -> str:
    match node:
        case Between(operand=operand, low=low, high=high, negated=negated):
            return f"{_inner(operand)} {_not(negated)}BETWEEN {_inner(low)} AND {_inner(high)}"
        case InList(operand=operand, items=items, negated=negated):
            return f"{_inner(operand)} {_not(negated)}IN ({', '.join(render(item) for item in items)})"
        case Like(kind=kind, operand=operand, pattern=pattern, negated=negated):
            return f"{_inner(operand)} {_not(negated)}{kind} {_inner(pattern)}"
        case IsNull(operand=operand, negated=negated):
            return f"{_inner(operand)} IS {_not(negated)}NULL"
        case IsDistinct(left=left, right=right, negated=negated):
            return f"{_inner(left)} IS {_not(negated)}DISTINCT FROM {_inner(right)}"
        case InQuery(operand=operand, negated=negated):
            return f"{_inner(operand)} {_not(negated)}IN (SELECT ...)"
        case Exists(negated=negated):
            return f"{_not(negated)}EXISTS (SELECT ...)"
        case ScalarQuery():
            return "(SELECT ...)"
        case _:
            return type(node).__name__.upper()


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _inner(node: Node) -> str:
    return f"({render(node)})" if isinstance(node, Binary | Between | InList | Like | IsNull | Case | Lambda) else render(node)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def _call(node: Call) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    text = f"{node.name.upper()}({distinct}{', '.join(render(arg) for arg in node.args)})"
    if node.within_group:
        text += f" WITHIN GROUP (ORDER BY {', '.join(render(key) for key in node.within_group)})"
    if node.ignore_nulls:
        text += " IGNORE NULLS"
    return text + (f" FILTER (WHERE {render(node.where)})" if node.where is not None else "")


def _over(spec: OverSpec) -> str:
    parts = []
    if spec.buffer is not None:
        parts.append(f"ROWS WINDOW BUFFER {spec.buffer} ROWS")
    if spec.partition_by:
        parts.append("PARTITION BY " + ", ".join(render(expr) for expr in spec.partition_by))
    if spec.order_by:
        parts.append("ORDER BY " + ", ".join(render(key) for key in spec.order_by))
    return " ".join(parts)


def _case(node: Case) -> str:
    parts = ["CASE"] if node.operand is None else ["CASE", render(node.operand)]
    parts += [f"WHEN {render(when)} THEN {render(then)}" for when, then in node.branches]
    if node.otherwise is not None:
        parts.append(f"ELSE {render(node.otherwise)}")
    return " ".join([*parts, "END"])
