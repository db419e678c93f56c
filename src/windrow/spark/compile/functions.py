"""Functions of the dialect that Spark does not have under that name: how they are spelled there."""

from __future__ import annotations

from collections.abc import Callable


def _is_container(args: list[str]) -> str:
    """Whether an object or array is found; a string may look like one from its first letter, and is then no JSON by itself."""
    found = f"get_json_object({args[0]}, {args[1]})"
    return f"(coalesce(left({found}, 1), '') IN ('{{', '[') AND try_parse_json({found}) IS NOT NULL)"


def _exists(args: list[str]) -> str:
    """A JSON null is there too, which only a variant shows; but a variant knows no ``*`` in a path."""
    found = f"get_json_object({args[0]}, {args[1]}) IS NOT NULL"
    is_plain = args[1].startswith("'") and "*" not in args[1]
    return f"({found} OR try_variant_get(try_parse_json({args[0]}), {args[1]}) IS NOT NULL)" if is_plain else f"({found})"


def _counted_in(name: str) -> Callable[[list[str]], str]:
    """With three arguments the first is a unit of time, which Spark takes bare."""

    def spell(args: list[str]) -> str:
        if len(args) != 3:
            return f"{name}({', '.join(args)})"
        call = "timestampadd" if name.endswith("ADD") else "timestampdiff"
        unit = args[0].strip("'")
        return f"{call}({unit}, {args[1]}, {args[2]})"

    return spell


_SPELLINGS: dict[str, Callable[[list[str]], str]] = {
    "HEADER": lambda args: f"`_headers`[{args[0]}]",
    "HAS_HEADER": lambda args: f"coalesce(map_contains_key(`_headers`, {args[0]}), false)",
    "HEADER_KEYS": lambda _: "coalesce(map_keys(`_headers`), CAST(array() AS ARRAY<STRING>))",
    "JSON_VALUE": lambda args: f"CASE WHEN NOT {_is_container(args)} THEN get_json_object({args[0]}, {args[1]}) END",
    "JSON_QUERY": lambda args: f"CASE WHEN {_is_container(args)} THEN get_json_object({args[0]}, {args[1]}) END",
    "JSON_EXISTS": lambda args: f"CASE WHEN {args[0]} IS NOT NULL THEN {_exists(args)} END",
    "COUNT_DISTINCT": lambda args: f"count(DISTINCT {', '.join(args)})",
    "DELTA": lambda args: f"(max({args[0]}) - min({args[0]}))",
    **{name: _counted_in(name) for name in ("TIMESTAMPADD", "TIMESTAMPDIFF", "DATEADD", "DATE_ADD", "DATEDIFF", "DATE_DIFF")},
}


def translate_call(name: str, args: list[str]) -> str:
    """A call as Spark spells it; a name that Spark knows stays as the user wrote it.

    >>> translate_call("upper", ["`a`"]), translate_call("Header", ["'k'"])
    ('upper(`a`)', "`_headers`['k']")
    """
    spelled = _SPELLINGS.get(name.upper())
    return spelled(args) if spelled else f"{name}({', '.join(args)})"
