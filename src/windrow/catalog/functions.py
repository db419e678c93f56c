"""Every function: how many arguments it takes, of which kind, and what it returns. Looked up without Spark.

Spark's functions come from ``functions.json``; ``own_functions`` adds the dialect's own and sharpens some of Spark's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any

from windrow.aggregates.base import Aggregate
from windrow.catalog.names import closest
from windrow.catalog.spelling import read_type
from windrow.errors import UsageError
from windrow.model.types import NULL, UNKNOWN, Array, DataType, Decimal, Map, Struct
from windrow.plugins import AGGREGATES, FUNCTIONS, entry_points_of, load_plugin

# From the types of the arguments (those of WITHIN GROUP come last) to the type of the result.
ReturnRule = Callable[[Sequence[DataType]], DataType]


class FunctionKind(Enum):
    SCALAR = "scalar"
    AGGREGATE = "aggregate"
    # Needs OVER. FIRST_VALUE and LAST_VALUE are aggregates, which may stand before OVER too.
    WINDOW = "window"
    GENERATOR = "generator"
    TABLE = "table"


def unknown_type(_: Sequence[DataType]) -> DataType:
    return UNKNOWN


@dataclass(frozen=True)
class Function:
    """``counts`` are the argument counts allowed; a variadic one takes ``counts[0]`` or more. No counts: any number."""

    name: str
    kind: FunctionKind
    signature: str
    doc: str
    counts: tuple[int, ...] = ()
    is_variadic: bool = False
    returns: ReturnRule = unknown_type
    # Names of the types that Spark refuses, per argument position.
    refuses: tuple[frozenset[str], ...] = ()
    # Positions that take numbers only (text that looks like a number is refused too); None stands for every position.
    numbers: tuple[int, ...] | None = ()
    needs_within_group: bool = False

    def accepts(self, count: int) -> bool:
        if not self.counts:
            return True
        return count >= self.counts[0] if self.is_variadic else count in self.counts

    def expected(self) -> str:
        """What ``accepts`` allows, in words.

        >>> function("substring").expected()
        '2 or 3 arguments'
        """
        if self.is_variadic:
            return f"at least {self.counts[0]} argument{'' if self.counts[0] == 1 else 's'}"
        if self.counts == (0,):
            return "no arguments"
        last = str(self.counts[-1])
        words = f"{', '.join(str(count) for count in self.counts[:-1])} or {last}" if self.counts[1:] else last
        return f"{words} argument{'' if self.counts == (1,) else 's'}"

    def takes_number(self, position: int) -> bool:
        return self.numbers is None or position in self.numbers

    def refuses_type(self, position: int, type_: DataType) -> bool:
        if position >= len(self.refuses) or type_ in (UNKNOWN, NULL):
            return False
        return _family(type_) in self.refuses[position]


def _family(type_: DataType) -> str:
    """The name under which the data file speaks of a type: one decimal, one array and one map stand for all."""
    match type_:
        case Decimal():
            return "DECIMAL(10,2)"
        case Array():
            return "ARRAY<INT>"
        case Map():
            return "MAP<STRING,INT>"
        case Struct():
            return "STRUCT"
        case _:
            return str(type_)


@cache
def functions() -> Mapping[str, Function]:
    """Spark's functions and the dialect's own, by lower-case name."""
    from windrow.catalog.own_functions import OWN_FUNCTIONS, sharpened  # they build on the classes above

    text = (files("windrow.catalog") / "functions.json").read_text()
    found = {name: sharpened(_from_data(name, entry)) for name, entry in json.loads(text).items()}
    found.update({own.name: own for own in OWN_FUNCTIONS})
    return found


def usable_functions() -> dict[str, Function]:
    """Those that some query can call, by lower-case name.

    >>> "to_date" in usable_functions(), "to_time" in usable_functions(), "range" in usable_functions()
    (True, False, False)
    """
    from windrow.catalog.own_functions import UNUSABLE

    own = {name: each for name, each in functions().items() if name not in UNUSABLE and each.kind is not FunctionKind.TABLE}
    return {**plugin_functions(), **own}


def plugin_functions() -> dict[str, Function]:
    """Those that installed packages bring, by lower-case name."""
    names = {*entry_points_of(AGGREGATES), *entry_points_of(FUNCTIONS)}
    return {name: found for name in sorted(names) if (found := _plugin_function(name)) is not None}


def _plugin_function(name: str) -> Function | None:
    from windrow.catalog.python_functions import ScalarFunction, describe_function  # it builds on the classes above

    aggregate = load_plugin(AGGREGATES, name, Aggregate)
    if aggregate is not None:
        return signed_aggregate(name, aggregate)
    scalar = load_plugin(FUNCTIONS, name, ScalarFunction)
    return None if scalar is None else replace(describe_function(scalar.as_statement(name)), doc=scalar.doc)


def signed_aggregate(name: str, form: Aggregate) -> Function:
    """What is known of an aggregate that Spark does not have: it says it itself."""
    said = form.signature
    if said is None:
        raise UsageError(
            "WR650", f'the aggregate "{name}" of a package says nothing of its arguments', "give it a windrow.aggregates.Signature"
        )
    return Function(name, FunctionKind.AGGREGATE, said.text, said.doc, said.counts, returns=said.returns, numbers=(0,))


def function(name: str) -> Function | None:
    """The function of that name, case-insensitively; None where there is none.

    >>> function("StdDev").kind
    <FunctionKind.AGGREGATE: 'aggregate'>
    """
    return functions().get(name.lower()) or _plugin_function(name.lower())


def closest_functions(name: str) -> list[str]:
    """Up to three functions with a similar name, in upper case."""
    return [found.upper() for found in closest(name, [*functions(), *entry_points_of(AGGREGATES), *entry_points_of(FUNCTIONS)], limit=3)]


def _from_data(name: str, entry: Mapping[str, Any]) -> Function:
    return Function(
        name=name,
        kind=FunctionKind(entry["kind"]),
        signature=entry["signature"],
        doc=entry["doc"],
        counts=tuple(entry["counts"]),
        is_variadic=entry["is_variadic"],
        returns=_return_rule(entry["returns"]),
        refuses=tuple(frozenset(types) for types in entry.get("refuses", ())),
    )


def _return_rule(data: Any) -> ReturnRule:
    if data is None:
        return unknown_type
    if isinstance(data, str):
        fixed = read_type(data)
        return lambda _: fixed
    if "arg" in data:
        return same_as(data["arg"])
    position, types = data["by"], {name: read_type(result) for name, result in data["types"].items()}

    def by_argument(args: Sequence[DataType]) -> DataType:
        if position >= len(args) or isinstance(args[position], Array | Map | Decimal):
            # One array, map and decimal was probed for all of them: only a result that does not repeat the argument carries over.
            found = types.get(_family(args[position]), UNKNOWN) if position < len(args) else UNKNOWN
            return UNKNOWN if isinstance(found, Array | Map | Decimal) else found
        return types.get(str(args[position]), UNKNOWN)

    return by_argument


def same_as(position: int) -> ReturnRule:
    """The result has the type of one argument."""
    return lambda args: args[position] if position < len(args) else UNKNOWN
