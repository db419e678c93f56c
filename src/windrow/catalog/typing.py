"""Types of expressions, and the columns that a query puts out. Never complains: what cannot be told is UNKNOWN."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windrow.catalog.generators import generated_columns
from windrow.catalog.numeric import arithmetic_type, common_type
from windrow.catalog.relation import ROW_ONLY, Names, Relation, RelationKind, WithCommonTables
from windrow.catalog.scope import Alias, Binding, Resolved, Scope, has_aggregate, is_aggregate, member_type, walk_own
from windrow.model.expr import (
    Asked,
    Between,
    Binary,
    Call,
    Case,
    Cast,
    Column,
    Exists,
    Expr,
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
    Over,
    Path,
    ScalarQuery,
    Slot,
    Star,
    Unary,
)
from windrow.model.expr import Node as AnyNode
from windrow.model.query import LateralView, NamedSource, Query, Select, SelectItem, Source, Union
from windrow.model.system import Origin, system_column
from windrow.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    UNKNOWN,
    VARIANT,
    Array,
    ColumnDef,
    DataType,
    Decimal,
    Map,
)
from windrow.sql import render_expr

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "DIV"})
_BITWISE = frozenset({"&", "|", "^"})
_EMISSIONS = frozenset({Origin.WINDOW, Origin.EMISSION})


def infer(node: Expr, scope: Scope) -> DataType:
    """The type of an expression at a place.

    >>> from windrow.catalog.schema import Catalog
    >>> str(infer(Binary("+", Literal(1), Literal(2.5)), Scope(Catalog())))
    'DOUBLE'
    """
    match node:
        case Literal(value=value):
            return _literal_type(value)
        case Interval():
            return INTERVAL
        case Column():
            found = scope.resolve(node)
            return found.type if isinstance(found, Resolved) else UNKNOWN
        case Call():
            return _call_type(node, scope)
        case Over(call=call):
            return _call_type(call, scope)
        case Unary(op=op, operand=operand):
            return BOOLEAN if op == "NOT" else infer(operand, scope)
        case Binary(op=op, left=left, right=right):
            return _binary_type(op, left, right, scope)
        case Cast(type=type_):
            return type_
        case Case(branches=branches, otherwise=otherwise):
            results = [infer(then, scope) for _, then in branches]
            return common_type([*results, NULL if otherwise is None else infer(otherwise, scope)])
        case Between() | InList() | Like() | IsNull() | IsDistinct() | InQuery() | Exists():
            return BOOLEAN
        case Index() | Field() | Path():
            return _part_type(node, scope)
        case ScalarQuery(query=query):
            columns = output_columns(query, scope.names, scope)
            return columns[0].type if columns is not None and len(columns) == 1 else UNKNOWN
        case Star() | Lambda() | Asked() | Slot():
            return UNKNOWN
    return UNKNOWN


def _literal_type(value: object) -> DataType:
    match value:
        case None:
            return NULL
        case bool():
            return BOOLEAN
        case int():
            return INT if -(2**31) <= value < 2**31 else BIGINT
        case float():
            return DOUBLE
        case str():
            return STRING
        case bytes():
            return BINARY
        case _:
            return _decimal_type(value)


def _decimal_type(value: object) -> DataType:
    digits = getattr(value, "as_tuple", lambda: None)()
    if digits is None or not isinstance(digits.exponent, int):
        return UNKNOWN
    scale = max(0, -digits.exponent)
    return Decimal(min(38, max(len(digits.digits), scale)), min(38, scale))


def _call_type(call: Call, scope: Scope) -> DataType:
    known = scope.names.function(call.name)
    if known is None:
        return UNKNOWN
    inner = scope.inside_aggregate() if is_aggregate(call, scope.names) else scope
    types = [infer(arg, inner) for arg in call.args] + [infer(key.expr, inner) for key in call.within_group]
    return known.returns(types)


def _binary_type(op: str, left: Expr, right: Expr, scope: Scope) -> DataType:
    if op in _ARITHMETIC:
        return arithmetic_type(op, infer(left, scope), infer(right, scope))
    if op in _BITWISE:
        return common_type([infer(left, scope), infer(right, scope)])
    if op == "||":
        return _concatenated(infer(left, scope), infer(right, scope))
    return BOOLEAN


def _concatenated(left: DataType, right: DataType) -> DataType:
    if isinstance(left, Array) or isinstance(right, Array):
        return common_type([left, right])
    if UNKNOWN in (left, right):
        return UNKNOWN
    return BINARY if left == right == BINARY else STRING


def _part_type(node: Index | Field | Path, scope: Scope) -> DataType:
    base = infer(node.base, scope)
    match node:
        case Field(name=name):
            return member_type(base, name) or UNKNOWN
        case Path():
            return VARIANT if base == VARIANT else STRING if base == STRING else UNKNOWN
        case Index():
            match base:
                case Array(element=element):
                    return element
                case Map(value=value):
                    return value
    return UNKNOWN


@dataclass(frozen=True)
class SelectScopes:
    """What names mean in each part of one SELECT."""

    names: Names
    # WHERE, the arguments of WINDOW, joins: rows as FROM gives them.
    rows: Scope
    # GROUP BY: columns first, then aliases of the list.
    grouping: Scope
    # One per select item: with the aliases of the items before it.
    items: tuple[Scope, ...]
    # HAVING, QUALIFY and ORDER BY: every alias.
    after: Scope
    is_aggregate: bool


def select_scopes(select: Select, names: Names, outer: Scope | None = None) -> SelectScopes:
    names = names_under(select, names, outer)
    rows = Scope(names, tuple(_bindings(select, names, outer)), outer=outer, merged=_merged(select))
    rows = _with_lateral_views(select.lateral_views, rows)
    grouped = is_aggregate_query(select, names)
    current = replace(rows, emits=_emits(select, grouped))
    items = []
    for position, item in enumerate(select.items):
        items.append(current)
        if item.alias is not None:
            alias = Alias(item.alias, infer(item.expr, current), _is_of_groups(item.expr, current), position)
            current = replace(current, aliases=(*current.aliases, alias))
    grouping = replace(rows, fallback=current.aliases)
    return SelectScopes(names, rows, grouping, tuple(items), current, grouped)


def _is_of_groups(expr: Expr, scope: Scope) -> bool:
    """Whether an aggregate stands in it, or an alias of one."""
    aggregates = {alias.name.lower() for alias in scope.aliases if alias.is_aggregate}
    return has_aggregate(expr, scope.names) or any(
        isinstance(node, Column) and node.qualifier is None and node.name.lower() in aggregates for node in walk_own(expr)
    )


def _emits(select: Select, is_grouped: bool) -> frozenset[Origin]:
    if select.window is not None:
        return _EMISSIONS
    return frozenset({Origin.EMISSION}) if is_grouped else frozenset()


def is_aggregate_query(select: Select, names: Names) -> bool:
    """Whether a SELECT puts out groups rather than rows."""
    if select.group_by:
        return True
    exprs: list[AnyNode] = [item.expr for item in select.items]
    exprs += [select.having] if select.having is not None else []
    exprs += [key.expr for key in select.order_by]
    return any(has_aggregate(expr, names) for expr in exprs)


def names_under(query: Query, names: Names, outer: Scope | None = None) -> Names:
    """Names with the common tables of a query's own WITH."""
    for table in query.ctes:
        relation = query_relation(table.name, table.query, names, outer)
        common = (*names.common, relation) if isinstance(names, WithCommonTables) else (relation,)
        names = WithCommonTables(names.around if isinstance(names, WithCommonTables) else names, common)
    return names


def _bindings(select: Select, names: Names, outer: Scope | None) -> Iterator[Binding]:
    if select.source is not None:
        yield binding_of(select.source, names, outer)
    for join in select.joins:
        yield binding_of(join.source, names, outer)


def binding_of(source: Source, names: Names, outer: Scope | None = None) -> Binding:
    if isinstance(source, NamedSource):
        found = names.relation(source.name) or Relation(source.name, "stream", (), is_known=False)
    else:
        found = query_relation(source.alias or "", source.query, names, outer)
    return Binding(source.alias or found.name, found.columns, found.kind, found.is_known, found.origins)


def _merged(select: Select) -> frozenset[str]:
    return frozenset(column.lower() for join in select.joins for column in join.using)


def _with_lateral_views(views: tuple[LateralView, ...], scope: Scope) -> Scope:
    for view in views:
        columns = view_columns(view, scope)
        scope = replace(scope, bindings=(*scope.bindings, Binding(view.alias or "", columns or (), is_known=columns is not None)))
    return scope


def view_columns(view: LateralView, scope: Scope) -> tuple[ColumnDef, ...] | None:
    """The columns of LATERAL VIEW or UNNEST, by the names that it gives them; None where they cannot be told."""
    if not isinstance(view.call, Call):
        return None
    given = generated_columns(view.call.name, [infer(arg, scope) for arg in view.call.args], len(view.columns), view.alias)
    if not view.columns:
        return given
    if given is None or len(given) != len(view.columns):
        return tuple(ColumnDef(name, UNKNOWN) for name in view.columns)
    return tuple(ColumnDef(name, column.type) for name, column in zip(view.columns, given, strict=True))


def query_relation(name: str, query: Query, names: Names, outer: Scope | None = None) -> Relation:
    """What a query would be as a stream or table of that name."""
    columns = output_columns(query, names, outer)
    kind, origins = _kind_and_origins(query, names, outer)
    if columns is None:
        return Relation(name, kind, (), is_known=False, origins=origins)
    visible = tuple(column for column in columns if system_column(column.name) is None)
    return Relation(name, kind, visible, origins=origins)


def _kind_and_origins(query: Query, names: Names, outer: Scope | None) -> tuple[RelationKind, frozenset[Origin]]:
    under = names_under(query, names, outer)
    if isinstance(query, Union):
        left, right = _kind_and_origins(query.left, under, outer), _kind_and_origins(query.right, under, outer)
        return ("stream" if "stream" in (left[0], right[0]) else "table"), left[1] & right[1]
    bindings = list(_bindings(query, under, outer))
    kind: RelationKind = "table" if bindings and all(binding.kind == "table" for binding in bindings) else "stream"
    emits = _emits(query, is_aggregate_query(query, under))
    return kind, ROW_ONLY.union(emits) if emits else ROW_ONLY.union(*(binding.origins for binding in bindings))


def output_columns(query: Query, names: Names, outer: Scope | None = None) -> tuple[ColumnDef, ...] | None:
    """Every column that a query puts out, system columns that it selects included; None where that cannot be told."""
    if isinstance(query, Union):
        under = names_under(query, names, outer)
        left, right = output_columns(query.left, under, outer), output_columns(query.right, under, outer)
        if left is None or right is None or len(left) != len(right):
            return left
        return tuple(ColumnDef(a.name, common_type([a.type, b.type])) for a, b in zip(left, right, strict=True))
    scopes = select_scopes(query, names, outer)
    columns: list[ColumnDef] = []
    for item, scope in zip(query.items, scopes.items, strict=True):
        found = _item_columns(item, scope)
        if found is None:
            return None
        columns.extend(found)
    return tuple(columns)


def _item_columns(item: SelectItem, scope: Scope) -> list[ColumnDef] | None:
    if not isinstance(item.expr, Star):
        return [ColumnDef(item_name(item), infer(item.expr, scope))]
    if item.expr.qualifier is not None:
        binding = scope.binding(item.expr.qualifier)
        return list(binding.columns) if binding is not None and binding.is_known else None
    if not all(binding.is_known for binding in scope.bindings):
        return None
    columns: list[ColumnDef] = []
    for binding in scope.bindings:
        taken = {column.name.lower() for column in columns} & scope.merged
        columns.extend(column for column in binding.columns if column.name.lower() not in taken)
    return columns


def item_name(item: SelectItem) -> str:
    """The name of an output column: its alias, else the column's own name, else the text of the expression.

    >>> item_name(SelectItem(Call("count", (Star(),))))
    'count(*)'
    """
    if item.alias is not None:
        return item.alias
    return item.expr.name if isinstance(item.expr, Column | Field) else render_expr(item.expr)
