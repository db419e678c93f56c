"""One environment with every value that holds in it, and where each comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from windrow.catalog.names import closest
from windrow.config import codes
from windrow.config.foreign import CHECKPOINT_SECONDS, SNAPSHOT_EVERY, batches_between
from windrow.config.keys import SCALARS, Path, known_spec, section
from windrow.config.reading import TOP, Project, Written, ancestors, judged
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionSpec
from windrow.errors import Diagnostic, SqlError, UsageError
from windrow.model.place import Span
from windrow.model.secret_names import names_secret
from windrow.sql import fill

MASK = "***"
# A placeholder tells nothing.
_USER_INFO = re.compile(r"(://[^/:@\s]+:)(?!\$\{\w+(?::\?[^}]*)?\}@)[^@/\s]+@")
_PASSWORD_WORD = re.compile(r"((?:password|passwd|pwd)\s*=\s*[\"']?)(?!\$\{\w+(?::\?[^}]*)?\})[^\s&;'\"]+", re.IGNORECASE)


@dataclass(frozen=True)
class Origin:
    """Where a value was said: a line of windrow.yaml, in an environment or above all of them; or a variable of the process."""

    line: int = 0
    environment: str = TOP
    variable: str = ""
    # The key of another system that it was written as.
    via: str = ""

    def describe(self, file: str) -> str:
        """
        >>> Origin(12, "prod", via="watermarks.idle_timeout").describe("windrow.yaml")
        'windrow.yaml line 12, prod, as watermarks.idle_timeout'
        """
        if self.variable:
            return f"environment variable {self.variable}"
        where = f", {self.environment}" if self.environment else ""
        return f"{file} line {self.line}{where}" + (f", as {self.via}" if self.via else "")


@dataclass(frozen=True)
class Value:
    """``rank`` is how specific the place is: a value of a child outranks that of its parent."""

    path: Path
    text: str
    # As written, with placeholders.
    raw: str
    span: Span
    key_span: Span
    origin: Origin
    rank: int = 0

    @property
    def shown(self) -> str:
        """The value, without what nobody should read."""
        return masked(self.path, self.text, self.raw)


@dataclass(frozen=True)
class Environment:
    """``name`` is empty where none was chosen: what stands at the top of the file holds then."""

    name: str
    project: Project
    values: Mapping[Path, Value]
    extends: tuple[str, ...] = ()

    def get(self, *path: str) -> str | None:
        value = self.values.get(path)
        return None if value is None else value.text

    def under(self, *path: str) -> dict[str, Value]:
        """The values below a path, by the rest of their key."""
        return {value.path[-1]: value for value in self.values.values() if value.path[:-1] == path}

    def names_under(self, head: str) -> dict[str, list[Value]]:
        """The values of a section by the user's names in it."""
        found: dict[str, list[Value]] = {}
        for value in self.values.values():
            if value.path[0] == head and len(value.path) == 3:
                found.setdefault(value.path[1], []).append(value)
        return found

    def variables(self, process: Mapping[str, str]) -> dict[str, str]:
        """What ``${NAME}`` stands for: the process goes before the file."""
        return {**{name: value.text for name, value in self.under("variables").items()}, **process}

    @property
    def settings(self) -> dict[str, str]:
        """As ``--set`` would give them."""
        state = {f"state.{key}": value.text for key, value in self.under("state").items() if key != "root"}
        return {**state, **{key: value.text for key, value in self.under("settings").items()}}


def resolve(project: Project, name: str | None, process: Mapping[str, str]) -> Environment:
    """The values of an environment; of none named, those of the project's default. What holds in all of them has the name ``TOP``."""
    chosen = (project.default or TOP) if name is None else name
    if chosen not in project.layers:
        similar = closest(chosen, project.environments)
        there = f"there are: {', '.join(project.environments)}" if project.environments else "add it under environments:"
        hint = f"did you mean {similar[0]}? {there}" if similar else there
        raise UsageError(codes.NO_ENVIRONMENT, f'{project.source.name} has no environment "{chosen}"', hint)
    chain = ancestors(project, chosen) if chosen != TOP else []
    faults: list[Diagnostic] = []
    values: dict[Path, Value] = {}
    for rank, layer in enumerate((*chain, chosen)):
        for written in project.layers[layer].values:
            values.pop(_same(values, written.path) or written.path, None)
            if written.text is not None:
                made = _value(project, layer, written, process, faults)
                values[written.path] = replace(made, rank=rank)
    if faults:
        raise SqlError(tuple(faults), project.source)
    return Environment(chosen, project, _with_derived(values), tuple(one for one in reversed(chain) if one != TOP))


def _same(values: Mapping[Path, Value], path: Path) -> Path | None:
    """Options, streams and settings are one whatever the case of their letters; variables are not."""
    if path[0] == "variables":
        return None
    wanted = tuple(part.lower() for part in path)
    return next((known for known in values if tuple(part.lower() for part in known) == wanted), None)


def _value(project: Project, layer: str, written: Written, process: Mapping[str, str], faults: list[Diagnostic]) -> Value:
    assert written.text is not None
    text, missing = fill(written.text, process)
    faults.extend(replace(fault, span=written.span) for fault in missing)
    key = written.path[-1]
    spec = _spec(written.path)
    if text != written.text and spec is not None and not missing:
        faults.extend(judged(spec, key, text, written.span))
    origin = Origin(project.source.position(written.key_span.start)[0], layer, "", written.via)
    if written.path[0] == "variables" and key in process:
        text, origin = process[key], replace(origin, variable=key)
    return Value(written.path, text, written.text, written.span, written.key_span, origin)


def _spec(path: Path) -> OptionSpec | None:
    if len(path) == 1:
        return next((spec for spec in SCALARS if spec.key == path[0]), None)
    own = section(path[0])
    specs = None if own is None else own.specs(path[1] if len(path) > 2 else "")
    return None if specs is None else known_spec(specs, path[-1])


def _with_derived(values: dict[Path, Value]) -> dict[Path, Value]:
    """Values that follow from several others."""
    seconds = values.pop(CHECKPOINT_SECONDS, None)
    own = values.get(SNAPSHOT_EVERY)
    if seconds is not None and (own is None or own.rank < seconds.rank):
        interval = values.get(("trigger_interval",))
        every = batches_between(int(seconds.text), None if interval is None else interval.text)
        values[SNAPSHOT_EVERY] = replace(seconds, path=SNAPSHOT_EVERY, text=every, raw=every)
    return values


def is_secret(path: Path) -> bool:
    """Whether a connector calls an option of this name a secret."""
    key = path[-1].lower()
    sides = (side for spec in CONNECTORS.values() for side in (spec.source, spec.sink))
    return any(option.is_secret and option.key.lower() == key for side in sides for option in side or ())


def masked(path: Path, text: str, raw: str) -> str:
    """The text without secrets. A placeholder tells nothing, so it stays.

    >>> masked(("variables", "DB_URL"), "postgresql://me:hush@db/x", "postgresql://me:hush@db/x")
    'postgresql://me:***@db/x'
    """
    # The address in a URL is what one wants to see of it.
    if names_secret(path[-1]) or (is_secret(path) and "://" not in text):
        return raw if re.fullmatch(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", raw) else MASK
    return masked_address(text)


def masked_address(text: str) -> str:
    """Addresses in a text, without the passwords in them; placeholders stay.

    >>> masked_address("a://me:hush@db, b://me:${PW}@db?password=x1")
    'a://me:***@db, b://me:${PW}@db?password=***'
    """
    return _PASSWORD_WORD.sub(rf"\1{MASK}", _USER_INFO.sub(rf"\1{MASK}@", text))


def every_value(environment: Environment) -> Iterator[Value]:
    """In the order of their keys."""
    return iter(sorted(environment.values.values(), key=lambda value: value.path))
