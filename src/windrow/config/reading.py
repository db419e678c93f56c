"""``windrow.yaml`` checked whole: every environment of it, whichever runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File

from windrow.catalog.names import closest
from windrow.check.rules.option import is_understood, nearest_value
from windrow.config import codes, foreign
from windrow.config.keys import (
    DEFAULT_ENVIRONMENT,
    ENVIRONMENTS,
    EXTENDS,
    FILE_LISTS,
    SCALARS,
    Path,
    environment_keys,
    known_spec,
    section,
)
from windrow.config.text import Entry, Item, Scalar, Sequence, Table, read_yaml
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.errors import Diagnostic, SqlError
from windrow.model.place import SourceText, Span
from windrow.sql import parse_triggers

# What holds in every environment stands at the top, and has no name.
TOP = ""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENVIRONMENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Written:
    """One value where it was written. Without text, it takes away what it would be given otherwise."""

    path: Path
    text: str | None
    span: Span
    key_span: Span
    # The key of another system that it was written as.
    via: str = ""


@dataclass(frozen=True)
class Layer:
    name: str
    values: tuple[Written, ...] = ()
    extends: str | None = None


@dataclass(frozen=True)
class Project:
    """A folder with its ``windrow.yaml``."""

    folder: File
    source: SourceText
    layers: Mapping[str, Layer]
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default: str | None = None

    @property
    def environments(self) -> list[str]:
        return [name for name in self.layers if name != TOP]

    def matching(self, what: str) -> list[File]:
        """The files of one of its lists, each once, in the order of the patterns."""
        found = (path for pattern in self.lists[what] for path in sorted(self.folder.glob(pattern)) if path.is_file())
        return list(dict.fromkeys(found))

    @property
    def includes(self) -> list[File]:
        return self.matching("include")

    @property
    def sql_files(self) -> list[File]:
        return [path for path in self.matching("files") if path not in self.includes]


def read_project(source: SourceText, folder: File) -> Project:
    """Raises SqlError with everything that is wrong with the file, each with its place."""
    reader = _Reader(source)
    project = reader.read(read_yaml(source), folder)
    if reader.faults:
        raise SqlError(tuple(sorted(reader.faults, key=lambda fault: fault.span.start if fault.span else 0)), source)
    return project


def judged(spec: OptionSpec, key: str, text: str, span: Span) -> Iterator[Diagnostic]:
    """What is wrong with a value. One that ends in a trigger is read as such."""
    if spec.key == "trigger":
        found = parse_triggers(text, span.start)
        if isinstance(found, Diagnostic):
            hint = f"trigger: {spec.example}"
            yield Diagnostic(codes.BAD_VALUE, f'"{key}" is no trigger: {found.message}', span, hint)
    elif not is_understood(text, spec) or (spec.kind is OptionKind.INTEGER and not int(text) > 0):
        wanted = f"one of: {', '.join(spec.choices)}" if spec.choices else f"a {spec.kind.value}"
        wanted += " above 0" if spec.kind is OptionKind.INTEGER else ""
        shown = "(hidden)" if spec.is_secret else f"'{text}'"
        yield Diagnostic(codes.BAD_VALUE, f'"{key}" cannot be {shown}: it needs {wanted}', span, f"{key}: {nearest_value(text, spec)}")


class _Reader:
    """Collects faults on the way, so that a file is mended in one go."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.faults: list[Diagnostic] = []

    def read(self, table: Table, folder: File) -> Project:
        lists = {key: given for key, (_, given) in FILE_LISTS.items()}
        layers: dict[str, Layer] = {}
        default: str | None = None
        top: list[Entry] = []
        for entry in table:
            if entry.key in FILE_LISTS:
                lists[entry.key] = tuple(self._texts(entry))
            elif entry.key == ENVIRONMENTS:
                layers = {one.key: self._environment(one) for one in self._table(entry, "dev: {master: 'local[2]'}")}
            elif entry.key == DEFAULT_ENVIRONMENT.key:
                default = self._scalar(entry)
            else:
                top.append(entry)
        known = [*environment_keys(), *FILE_LISTS, ENVIRONMENTS, DEFAULT_ENVIRONMENT.key]
        layers = {TOP: Layer(TOP, tuple(self._values(top, known))), **layers}
        self._check_names(table, layers, default)
        return Project(folder, self.source, layers, lists, default)

    def fault(self, code: str, message: str, span: Span, hint: str) -> None:
        self.faults.append(Diagnostic(code, message, span, hint))

    def _environment(self, entry: Entry) -> Layer:
        if not _ENVIRONMENT.fullmatch(entry.key):
            self.fault(
                codes.BAD_VALUE, f'"{entry.key}" is no name of an environment', entry.key_span, "use letters, digits, - and _: prod_eu"
            )
        rest: list[Entry] = []
        extends = None
        for one in self._table(entry, "master: 'local[2]'"):
            if one.key == EXTENDS.key:
                extends = self._scalar(one)
            else:
                rest.append(one)
        return Layer(entry.key, tuple(self._values(rest, [EXTENDS.key, *environment_keys()])), extends)

    def _check_names(self, table: Table, layers: Mapping[str, Layer], default: str | None) -> None:
        named = [name for name in layers if name != TOP]
        if default is not None and default not in layers:
            entry = table.find(DEFAULT_ENVIRONMENT.key)
            assert entry is not None
            self.fault(codes.NO_ENVIRONMENT, f'there is no environment "{default}"', entry.value.span, _meant(default, named))
        written = table.find(ENVIRONMENTS)
        entries = written.value.entries if written is not None and isinstance(written.value, Table) else ()
        for entry in entries:
            parent = entry.value.find(EXTENDS.key) if isinstance(entry.value, Table) else None
            if parent is None or layers[entry.key].extends is None:
                continue
            wanted = str(layers[entry.key].extends)
            if wanted not in named:
                self.fault(
                    codes.BAD_EXTENDS, f'"{entry.key}" extends "{wanted}", which is not there', parent.value.span, _meant(wanted, named)
                )
            elif entry.key in _ancestors(entry.key, layers):
                chain = " -> ".join([entry.key, *_ancestors(entry.key, layers)])
                self.fault(codes.BAD_EXTENDS, f'"{entry.key}" extends itself: {chain}', parent.value.span, "let one of them extend nothing")

    def _values(self, entries: list[Entry], known: list[str]) -> Iterator[Written]:
        for entry in entries:
            spec = next((one for one in SCALARS if one.key == entry.key), None)
            if spec is not None:
                yield from self._leaf((entry.key,), entry, spec, entry.key)
            elif entry.key in foreign.SECTIONS:
                yield from self._foreign_section(entry)
            elif section(entry.key) is not None:
                yield from self._section(entry)
            else:
                self.fault(codes.UNKNOWN_KEY, f'unknown key "{entry.key}"', entry.key_span, _meant(entry.key, known))

    def _section(self, entry: Entry) -> Iterator[Written]:
        own = section(entry.key)
        assert own is not None
        if isinstance(entry.value, Scalar) and entry.value.text is None:
            return
        if own.of is None:
            yield from self._leaves((own.key,), self._table(entry, f"{own.key}: {own.example}"), own.specs(""))
            return
        for named in self._table(entry, f"{own.key}: {own.example}"):
            specs = own.specs(named.key)
            if own.key == "connectors" and specs is None:
                self.fault(codes.UNKNOWN_NAME, f'unknown connector "{named.key}"', named.key_span, _meant(named.key, list(CONNECTORS)))
                continue
            yield from self._leaves((own.key, named.key), self._table(named, f"{own.key}: {own.example}"), specs)

    def _leaves(self, path: Path, table: Table, specs: tuple[OptionSpec, ...] | None) -> Iterator[Written]:
        for entry in _flat(table):
            key = entry.key
            if path == ("state",) and key.split(".")[0] in foreign.TIERS:
                yield from self._foreign((*path, key), entry)
                continue
            if path == ("settings",) and key.startswith("state."):
                hint = f"state: {{{key.removeprefix('state.')}: ...}}"
                self.fault(codes.UNKNOWN_KEY, f'"{key}" stands under state', entry.key_span, hint)
                continue
            if path == ("variables",) and not _NAME.fullmatch(key):
                self.fault(codes.BAD_VALUE, f'"{key}" is no name of a variable', entry.key_span, "use letters, digits and _: REGION")
                continue
            spec = OptionSpec(key, OptionKind.TEXT, "", example="") if specs is None else known_spec(specs, key)
            if spec is None:
                where = ".".join(path)
                hint = _meant(key, [one.key for one in specs or ()])
                self.fault(codes.UNKNOWN_KEY, f'unknown key "{key}" under {where}', entry.key_span, hint)
                continue
            yield from self._leaf((*path, key), entry, spec, key)

    def _leaf(self, path: Path, entry: Entry, spec: OptionSpec, key: str) -> Iterator[Written]:
        if not isinstance(entry.value, Scalar):
            self.fault(codes.BAD_VALUE, f'"{key}" needs one value', entry.value.span, f"{key}: {spec.example or 'value'}")
            return
        text = entry.value.text
        if text is not None and "${" not in text:
            self.faults.extend(judged(spec, key, text, entry.value.span))
        yield Written(path, text, entry.value.span, entry.key_span)

    def _foreign_section(self, entry: Entry) -> Iterator[Written]:
        if isinstance(entry.value, Scalar) and entry.value.text is None:
            return
        for one in self._table(entry, f"{entry.key}: {{...}}"):
            if entry.key == "windowing":
                for leaf in self._table(one, f"{one.key}: {{size: 5m}}"):
                    yield from self._foreign((entry.key, one.key, leaf.key), leaf)
            else:
                yield from self._foreign((entry.key, one.key), one)

    def _foreign(self, path: Path, entry: Entry) -> Iterator[Written]:
        via = ".".join(path)
        text = entry.value.text if isinstance(entry.value, Scalar) else None
        answer = foreign.answer_for(path, text or "")
        match answer:
            case None:
                self.fault(codes.UNKNOWN_KEY, f'unknown key "{via}"', entry.key_span, _meant(path[-1], foreign.known_keys(path[0])))
            case foreign.Refused(reason=reason, hint=hint):
                self.fault(codes.NO_MEANING, f'"{via}" has no meaning here: {reason}', entry.key_span, hint)
            case foreign.Mapped(text=None):
                shown = f"'{text}'" if isinstance(entry.value, Scalar) else "several values"
                self.fault(codes.BAD_VALUE, f'"{via}" cannot be {shown}', entry.value.span, "a number, or a length of time such as 5m")
            case foreign.Mapped(path=target, text=value):
                yield Written(target, value, entry.value.span, entry.key_span, via)

    def _table(self, entry: Entry, example: str) -> Table:
        match entry.value:
            case Table() as table:
                return table
            case Scalar(text=None):
                return Table((), entry.value.span)
            case _:
                self.fault(codes.BAD_VALUE, f'"{entry.key}" holds keys, not a value', entry.value.span, example)
                return Table((), entry.value.span)

    def _scalar(self, entry: Entry) -> str | None:
        if isinstance(entry.value, Scalar):
            return entry.value.text
        self.fault(codes.BAD_VALUE, f'"{entry.key}" needs one value', entry.value.span, f"{entry.key}: dev")
        return None

    def _texts(self, entry: Entry) -> Iterator[str]:
        items: tuple[Item, ...] = entry.value.items if isinstance(entry.value, Sequence) else (entry.value,)
        for item in items:
            if not isinstance(item, Scalar) or item.text is None or item.text.startswith("/") or ".." in item.text.split("/"):
                hint = f"{entry.key}: [{(FILE_LISTS[entry.key][1] or ('sources.sql',))[0]}]"
                self.fault(codes.BAD_VALUE, f'"{entry.key}" lists files below the folder of windrow.yaml', item.span, hint)
            else:
                yield item.text


def _flat(table: Table) -> Iterator[Entry]:
    """Keys inside keys are keys with dots: ``snapshot: {every: 5}`` is ``snapshot.every: 5``."""
    for entry in table:
        if isinstance(entry.value, Table) and entry.value.entries:
            for inner in _flat(entry.value):
                yield Entry(f"{entry.key}.{inner.key}", inner.key_span, inner.value)
        else:
            yield entry


def _ancestors(name: str, layers: Mapping[str, Layer]) -> list[str]:
    """Parents, nearest first, until there is none more or one comes again."""
    found: list[str] = []
    parent = layers[name].extends
    while parent is not None and parent in layers and parent not in found:
        found.append(parent)
        parent = layers[parent].extends
    return found


def _meant(name: str, known: list[str]) -> str:
    similar = closest(name, known)
    there = f"there are: {', '.join(known)}" if known else "there is none"
    return f'did you mean "{similar[0]}"? {there}' if similar else there


def ancestors(project: Project, name: str) -> list[str]:
    """The environments that one builds on, the most general first; what stands at the top is the first of all."""
    return [TOP, *reversed(_ancestors(name, project.layers))]
