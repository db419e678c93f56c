"""Functions that make several rows of one: which columns they give."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.model.types import INT, STRING, UNKNOWN, Array, ColumnDef, DataType, Map, Struct

_OUTER = "_outer"
GENERATORS = frozenset({"explode", "posexplode", "inline", "stack", "json_tuple", "unnest"})


def generator(name: str) -> str | None:
    """The plain name of a function that gives several rows; None for any other.

    >>> generator("EXPLODE_OUTER"), generator("upper")
    ('explode', None)
    """
    plain = name.lower().removesuffix(_OUTER)
    return plain if plain in GENERATORS else None


def is_outer(name: str) -> bool:
    return name.lower().endswith(_OUTER)


def generated_columns(name: str, args: Sequence[DataType], wanted: int = 0, alias: str | None = None) -> tuple[ColumnDef, ...] | None:
    """What a generator gives, under Spark's own names; ``wanted`` is how many columns the query names. None where it cannot be told.

    >>> [str(column.type) for column in generated_columns("posexplode", [Array(STRING)])]
    ['INT', 'STRING']
    """
    base = args[0] if args else UNKNOWN
    match generator(name):
        case "explode":
            return _elements(base)
        case "posexplode":
            elements = _elements(base)
            return None if elements is None else (ColumnDef("pos", INT), *elements)
        case "inline":
            return _fields(base)
        case "unnest":
            if unnests_structs(base, wanted):
                return _fields(base)
            elements = _elements(base)
            # UNNEST(tags) AS tag: the alias is the column.
            named = alias is not None and elements is not None and len(elements) == 1
            return (ColumnDef(alias or "", elements[0].type),) if named and elements is not None else elements
        case "json_tuple":
            return tuple(ColumnDef(f"c{i}", STRING) for i in range(len(args) - 1))
        case _:
            return None


def unnests_structs(base: DataType, wanted: int) -> bool:
    """Whether UNNEST gives the fields of structs as columns: always, unless one column is asked for."""
    return isinstance(base, Array) and isinstance(base.element, Struct) and wanted != 1


def _elements(base: DataType) -> tuple[ColumnDef, ...] | None:
    match base:
        case Array(element=element):
            return (ColumnDef("col", element),)
        case Map(key=key, value=value):
            return (ColumnDef("key", key), ColumnDef("value", value))
        case _:
            return None


def _fields(base: DataType) -> tuple[ColumnDef, ...] | None:
    if not isinstance(base, Array) or not isinstance(base.element, Struct):
        return None
    return tuple(ColumnDef(name, type_) for name, type_ in base.element.fields)
