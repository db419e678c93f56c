"""WR223: operands that do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from windrow.catalog.scope import Scope
from windrow.catalog.typing import infer, output_columns
from windrow.check.agreement import are_comparable, can_calculate, family, is_open, may_be_boolean
from windrow.check.blocks import Context
from windrow.errors import Diagnostic
from windrow.model.expr import Between, Binary, Call, Case, Expr, Index, InList, InQuery, IsDistinct, Literal, Node, Unary, walk
from windrow.model.types import BOOLEAN, INTEGERS, STRING, TIMESTAMP, Array, DataType, Map, Struct
from windrow.sql import render_expr
from windrow.sql.words import quote_name

_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">=", "<=>"})
_FIRST_OF = frozenset({"coalesce", "ifnull", "nvl", "greatest", "least"})
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "DIV"})


def operand_type(context: Context) -> Iterator[Diagnostic]:
    for node, scope, _, _ in context.nodes():
        yield from _judge(node, scope)


def _judge(node: Node, scope: Scope) -> Iterator[Diagnostic]:
    match node:
        case Binary(op=op) if op in _ARITHMETIC:
            yield from _arithmetic(node, scope)
        case Binary(op="&" | "|" | "^"):
            yield from _bits(node, scope)
        case Binary(op=op, left=left, right=right) if op in _COMPARISONS:
            yield from _comparison(op, left, right, scope, node)
        case Binary(op="AND" | "OR" as op, left=left, right=right):
            for side in (left, right):
                yield from _boolean(op, side, scope)
        case Unary(op="NOT", operand=operand):
            yield from _boolean("NOT", operand, scope)
        case Unary(op="-" | "+" as op, operand=operand):
            yield from _signed(op, operand, scope)
        case Between(operand=operand, low=low, high=high):
            for side in (low, high):
                yield from _comparison("BETWEEN", operand, side, scope, side)
        case InList(operand=operand, items=items):
            for item in items:
                yield from _comparison("IN", operand, item, scope, item)
        case InQuery(operand=operand, query=query):
            columns = output_columns(query, scope.names, scope)
            if columns is not None and len(columns) == 1:
                yield from _comparable("IN", operand, infer(operand, scope), operand, columns[0].type, node)
        case IsDistinct(left=left, right=right):
            yield from _comparison("IS DISTINCT FROM", left, right, scope, node)
        case Case(operand=operand, branches=branches, otherwise=otherwise):
            if operand is not None:
                for when, _ in branches:
                    yield from _comparison("CASE", operand, when, scope, when)
            results = [then for _, then in branches]
            yield from _one_kind("CASE", results if otherwise is None else [*results, otherwise], scope)
        case Call(name=name, args=args) if name.lower() in _FIRST_OF:
            yield from _one_kind(name, args, scope)
        case Index(base=base, key=key):
            type_ = infer(base, scope)
            if not isinstance(type_, Array | Map) and not is_open(type_):
                message = f"[...] needs an array or a map, but {render_expr(base)} is {type_}"
                yield Diagnostic("WR223", message, node.span or base.span, _index_hint(base, key, type_))


def _one_kind(what: str, values: Sequence[Expr], scope: Scope) -> Iterator[Diagnostic]:
    """A list, map or struct is of no type with anything else."""
    known = [(value, type_) for value in values if not is_open(type_ := infer(value, scope))]
    for value, type_ in known[1:]:
        first = known[0][1]
        if "nested" in (family(first), family(type_)) and type(first) is not type(type_):
            message = f"{what} gives one type, and {render_expr(value)} is {type_}, where {first} came before"
            yield Diagnostic("WR223", message, value.span, f"write {render_expr(known[0][0])} and the others with one type")


def _index_hint(base: Expr, key: Expr, type_: DataType) -> str:
    if isinstance(type_, Struct) and isinstance(key, Literal) and isinstance(key.value, str):
        return f"write {render_expr(base)}.{quote_name(key.value)}"
    return f"for a letter write SUBSTRING({render_expr(base)}, 1, 1)" if type_ == STRING else f"write {render_expr(base)} alone"


def _arithmetic(node: Binary, scope: Scope) -> Iterator[Diagnostic]:
    left, right = infer(node.left, scope), infer(node.right, scope)
    if can_calculate(node.op, node.left, left, node.right, right):
        return
    message = f"cannot calculate {left} {node.op} {right}: {render_expr(node)}"
    yield Diagnostic("WR223", message, node.span or node.left.span, _arithmetic_hint(node, left, right))


def _arithmetic_hint(node: Binary, left: DataType, right: DataType) -> str:
    if STRING in (left, right):
        if node.op == "+" and left == right:
            return f"to join texts write CONCAT({render_expr(node.left)}, {render_expr(node.right)})"
        text = node.left if left == STRING else node.right
        cast = f"CAST({render_expr(text)} AS DOUBLE)"
        sides = (cast, render_expr(node.right)) if left == STRING else (render_expr(node.left), cast)
        join = f", or CONCAT({render_expr(node.left)}, {render_expr(node.right)}) to join texts" if node.op == "+" else ""
        return f"write {sides[0]} {node.op} {sides[1]}{join}"
    if "time" in (family(left), family(right)) and "number" in (family(left), family(right)):
        time = node.left if family(left) == "time" else node.right
        return f"a time moves by an interval: {render_expr(time)} {node.op} INTERVAL '1' SECOND"
    return "both sides must be numbers"


def _bits(node: Binary, scope: Scope) -> Iterator[Diagnostic]:
    for side in (node.left, node.right):
        type_ = infer(side, scope)
        if type_ in INTEGERS or is_open(type_):
            continue
        left, right = render_expr(node.left), render_expr(node.right)
        instead = {"^": f"a power is POWER({left}, {right})", "|": f"texts are joined by CONCAT({left}, {right})", "&": "both is AND"}
        message = f"{node.op} works on the bits of whole numbers, and {render_expr(side)} is {type_}"
        yield Diagnostic("WR223", message, node.span or side.span, f"CAST({render_expr(side)} AS BIGINT); {instead[node.op]}")
        return


def _comparison(op: str, left: Expr, right: Expr, scope: Scope, at: Node) -> Iterator[Diagnostic]:
    yield from _comparable(op, left, infer(left, scope), right, infer(right, scope), at)


def _comparable(op: str, left: Expr, left_type: DataType, right: Expr, right_type: DataType, at: Node) -> Iterator[Diagnostic]:
    if not are_comparable(left, left_type, right, right_type):
        message = f"cannot compare {left_type} with {right_type} ({op})"
        yield Diagnostic("WR223", message, at.span or left.span, _comparison_hint(left, left_type, right, right_type))


def _comparison_hint(left: Expr, left_type: DataType, right: Expr, right_type: DataType) -> str:
    if any(isinstance(node, Binary) and node.op == "||" for side in (left, right) for node in walk(side)):
        return "|| joins texts; for one of two conditions write OR"
    if TIMESTAMP in (left_type, right_type) and "number" in (family(left_type), family(right_type)):
        number = left if family(left_type) == "number" else right
        return f"write TIMESTAMP_MILLIS({render_expr(number)}) for milliseconds since 1970"
    if BOOLEAN in (left_type, right_type):
        return f"compare true or false with TRUE or FALSE: {render_expr(left if left_type == BOOLEAN else right)} = TRUE"
    # The side that is not a literal is the one to keep as it is, unless only it is text.
    cast, to = (left, right_type) if left_type == STRING and not isinstance(left, Literal) else (right, left_type)
    return f"convert one side: CAST({render_expr(cast)} AS {to})"


def _boolean(op: str, side: Expr, scope: Scope) -> Iterator[Diagnostic]:
    type_ = infer(side, scope)
    if not may_be_boolean(type_):
        message = f"{op} needs true or false, but {render_expr(side)} is {type_}"
        yield Diagnostic("WR223", message, side.span, f"write a comparison: {render_expr(side)} = ...")


def _signed(op: str, operand: Expr, scope: Scope) -> Iterator[Diagnostic]:
    type_ = infer(operand, scope)
    if family(type_) not in ("number", "any", "INTERVAL"):
        message = f"{op} needs a number, but {render_expr(operand)} is {type_}"
        yield Diagnostic("WR223", message, operand.span, f"write {op}CAST({render_expr(operand)} AS DOUBLE)")
