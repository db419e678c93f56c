"""Whether what came out is what was expected, and if not, a difference that a person can read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

Row = Mapping[str, Any]


def plain(value: Any) -> Any:
    """A value as a case writes it: times as epoch milliseconds, lengths of time as milliseconds, decimals as numbers."""
    match value:
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            micros = (aware - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
            return micros // 1000 if micros % 1000 == 0 else micros / 1000
        case date():
            return value.isoformat()
        case timedelta():
            micros = value // _MICROSECOND
            return micros // 1000 if micros % 1000 == 0 else micros / 1000
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return value.decode("utf-8", "replace")
        case dict():
            # The keys of JSON are texts, those of a map of any type.
            return {key if isinstance(key, str) else str(plain(key)): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            return value


_MICROSECOND = timedelta(microseconds=1)


def equal(expected: Any, actual: Any, tolerance: float) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool) or expected is None or actual is None:
        return expected is actual or (isinstance(expected, bool) and isinstance(actual, bool) and expected == actual)
    if isinstance(expected, int | float) and isinstance(actual, int | float):
        if math.isnan(expected) or math.isnan(actual):
            return math.isnan(expected) and math.isnan(actual)
        return expected == actual or abs(expected - actual) <= tolerance * max(1.0, abs(expected)) or abs(expected - actual) <= tolerance
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(equal(v, actual[k], tolerance) for k, v in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(equal(e, a, tolerance) for e, a in zip(expected, actual, strict=True))
    return bool(expected == actual)


def difference(expected: Sequence[Row], actual: Sequence[Row], compare: str, tolerance: float) -> str | None:
    """None where they agree. Rows are compared on the keys that the expected ones name."""
    if compare.startswith("latest_per_key:"):
        keys = [key.strip() for key in compare.split(":", 1)[1].split(",")]
        actual = _latest(actual, keys)
        return _unordered(expected, actual, tolerance)
    return _unordered(expected, actual, tolerance) if compare == "any" else _ordered(expected, actual, tolerance)


def _latest(rows: Sequence[Row], keys: list[str]) -> list[Row]:
    last: dict[str, Row] = {}
    for row in rows:
        last[json.dumps([_get(row, key) for key in keys], default=str)] = row
    return [row for row in last.values() if row.get("_emission") != "retract"]


def _get(row: Row, key: str) -> Any:
    if key in row:
        return row[key]
    return next((value for name, value in row.items() if name.lower() == key.lower()), None)


def _matches(expected: Row, actual: Row, tolerance: float) -> bool:
    names = {name.lower() for name in actual}
    return all(key.lower() in names and equal(value, _get(actual, key), tolerance) for key, value in expected.items())


def _ordered(expected: Sequence[Row], actual: Sequence[Row], tolerance: float) -> str | None:
    for index, row in enumerate(expected):
        if index >= len(actual):
            return f"row {index + 1} of {len(expected)} is missing\n  expected {_show(row, row)}\n  got only {len(actual)} rows"
        if not _matches(row, actual[index], tolerance):
            return f"row {index + 1} differs\n  expected {_show(row, row)}\n  got      {_show(actual[index], row)}"
    if len(actual) > len(expected):
        return f"{len(actual) - len(expected)} rows too many\n  first    {_show(actual[len(expected)], None)}"
    return None


def _unordered(expected: Sequence[Row], actual: Sequence[Row], tolerance: float) -> str | None:
    left = list(actual)
    missing = []
    for row in expected:
        found = next((i for i, candidate in enumerate(left) if _matches(row, candidate, tolerance)), None)
        if found is None:
            missing.append(row)
        else:
            left.pop(found)
    if not missing and not left:
        return None
    lines = [f"{len(missing)} rows missing, {len(left)} rows too many"]
    like = expected[0] if expected else None
    lines.extend(f"  missing  {_show(row, row)}" for row in missing[:5])
    lines.extend(f"  too many {_show(row, like)}" for row in left[:5])
    return "\n".join(lines)


def _show(row: Row, like: Row | None) -> str:
    shown = {key: _get(row, key) for key in like} if like is not None else {k: v for k, v in row.items() if not k.startswith("_")}
    return json.dumps(shown, default=str, ensure_ascii=False)
