"""An environment as people read it: every value with where it comes from, and how two environments differ."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windrow.config.environments import Environment, Origin, Value, masked
from windrow.config.keys import ROOT, SCALARS
from windrow.jobs.options import RUN_SETTINGS

DEFAULT = "default"


@dataclass(frozen=True)
class Line:
    """``source`` says where the value comes from."""

    key: str
    value: str
    source: str

    def to_json(self) -> dict[str, str]:
        return {"key": self.key, "value": self.value, "from": self.source}


def lines_of(environment: Environment, given: Iterable[Line] = (), *, has_defaults: bool = False) -> list[Line]:
    """Every value that is set, secrets masked; ``given`` are those of the process, which go before."""
    file = environment.project.source.name
    lines = {_key(value): Line(_key(value), value.shown, value.origin.describe(file)) for value in environment.values.values()}
    lines |= {line.key: line for line in given}
    if has_defaults:
        lines = {**{line.key: line for line in _defaults()}, **lines}
    return sorted(lines.values(), key=lambda line: line.key)


def from_process(key: str, text: str, variable: str) -> Line:
    return Line(key, masked((key,), text, text), Origin(variable=variable).describe(""))


def differences(one: Environment, other: Environment) -> list[tuple[str, str | None, str | None]]:
    """Keys whose values differ, with both. Secrets that differ are told, and not shown."""
    left, right = ({_key(value): value for value in each.values.values()} for each in (one, other))
    found = []
    for key in sorted({*left, *right}):
        mine, theirs = left.get(key), right.get(key)
        if mine is None or theirs is None or mine.text != theirs.text:
            found.append((key, None if mine is None else mine.shown, None if theirs is None else theirs.shown))
    return found


def _key(value: Value) -> str:
    """Settings are called as ``--set`` calls them."""
    return value.path[-1] if value.path[0] == "settings" else ".".join(value.path)


def _defaults() -> Iterable[Line]:
    for spec in (*SCALARS, ROOT):
        if spec.default is not None:
            yield Line(f"state.{spec.key}" if spec is ROOT else spec.key, spec.default, DEFAULT)
    for key, setting in RUN_SETTINGS.items():
        if setting.default:
            yield Line(key, setting.default, DEFAULT)
