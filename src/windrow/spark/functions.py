"""Functions of the dialect that Spark does not have under that name: how they are spelled there."""

from __future__ import annotations

from collections.abc import Callable

_SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "HEADER": lambda args: f"`_headers`[{args[0]}]",
    "HAS_HEADER": lambda args: f"coalesce(map_contains_key(`_headers`, {args[0]}), false)",
    "HEADER_KEYS": lambda _: "coalesce(map_keys(`_headers`), CAST(array() AS ARRAY<STRING>))",
    "JSON_VALUE": lambda args: f"get_json_object({args[0]}, {args[1]})",
    "JSON_QUERY": lambda args: f"get_json_object({args[0]}, {args[1]})",
    "JSON_EXISTS": lambda args: f"(get_json_object({args[0]}, {args[1]}) IS NOT NULL)",
}


def translate_call(name: str, args: list[str]) -> str:
    """A call as Spark spells it; a name that Spark knows stays as the user wrote it.

    >>> translate_call("upper", ["`a`"]), translate_call("Header", ["'k'"])
    ('upper(`a`)', "`_headers`['k']")
    """
    spelled = _SPELLINGS.get(name.upper())
    return spelled(args) if spelled else f"{name}({', '.join(args)})"
