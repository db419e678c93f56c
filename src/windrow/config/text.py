"""YAML with places: every key and value knows where it stands. The only importer of PyYAML."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from windrow.config import codes
from windrow.errors import Diagnostic, SqlError
from windrow.model.place import SourceText, Span


@dataclass(frozen=True)
class Scalar:
    """One value as it was written, without quotes; None where there is none (``key:``, ``null`` or ``~``)."""

    text: str | None
    span: Span


@dataclass(frozen=True)
class Sequence:
    items: tuple[Item, ...]
    span: Span


@dataclass(frozen=True)
class Entry:
    key: str
    key_span: Span
    value: Item


@dataclass(frozen=True)
class Table:
    """Keys with values, in the order they stand."""

    entries: tuple[Entry, ...]
    span: Span

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def find(self, key: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.key == key), None)


Item = Scalar | Sequence | Table

_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_MERGE = "<<"


def read_yaml(source: SourceText) -> Table:
    """The keys of a file; raises SqlError with the place of what cannot be read.

    >>> table = read_yaml(SourceText("a: {b: 010, c: yes}\\nd: ~"))
    >>> [(entry.key, entry.value) for entry in table.entries[0].value]
    [('b', Scalar(text='010', span=Span(start=7, end=10))), ('c', Scalar(text='yes', span=Span(start=15, end=18)))]
    """
    try:
        node = yaml.compose(source.text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = 0 if mark is None else mark.index
        found = Diagnostic(codes.NOT_YAML, f"this is not YAML: {error.problem or error.context}", Span(at, at + 1), _hint(source.text, at))
        raise SqlError((found,), source) from None
    except yaml.YAMLError as error:
        found = Diagnostic(codes.NOT_YAML, f"this is not YAML: {str(error).splitlines()[0]}", Span(0, 1), "save it as plain text in UTF-8")
        raise SqlError((found,), source) from None
    if node is None:
        return Table((), Span(0, 0))
    faults: list[Diagnostic] = []
    found_item = _item(node, faults, ())
    if not isinstance(found_item, Table):
        faults.append(Diagnostic(codes.NOT_YAML, "the file holds no keys", found_item.span, "environments: {dev: {...}}"))
    if faults or not isinstance(found_item, Table):
        raise SqlError(tuple(faults), source)
    return found_item


def _hint(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
    if "\t" in line:
        return "indent with spaces: YAML takes no tabs"
    return "a key is followed by ': ', and what belongs to it is indented by spaces"


def _item(node: yaml.Node, faults: list[Diagnostic], above: tuple[yaml.Node, ...]) -> Item:
    span = Span(node.start_mark.index, node.end_mark.index)
    if any(node is one for one in above):
        faults.append(Diagnostic(codes.NOT_YAML, "this alias holds itself", span, "write the keys out"))
        return Scalar(None, span)
    above = (*above, node)
    match node:
        case yaml.ScalarNode(value=value, style=style):
            return Scalar(None if style is None and value in _NOTHING else value, span)
        case yaml.SequenceNode(value=items):
            return Sequence(tuple(_item(item, faults, above) for item in items), span)
        case _:
            return Table(tuple(_entries(node, faults, above)), span)


def _entries(node: yaml.Node, faults: list[Diagnostic], above: tuple[yaml.Node, ...]) -> Iterator[Entry]:
    seen: set[str] = set()
    for key, value in node.value:
        span = Span(key.start_mark.index, key.end_mark.index)
        if not isinstance(key, yaml.ScalarNode):
            faults.append(Diagnostic(codes.NOT_YAML, "a key is one word", span, "write it as name: value"))
            continue
        if key.value == _MERGE:
            hint = "let one environment extend another: extends: base"
            faults.append(Diagnostic(codes.NOT_YAML, "merge keys are not read", span, hint))
            continue
        if key.value in seen:
            faults.append(Diagnostic(codes.NOT_YAML, f'the key "{key.value}" is there twice', span, "keep one of them"))
            continue
        seen.add(key.value)
        yield Entry(key.value, span, _item(value, faults, above))
