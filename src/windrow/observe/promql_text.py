"""PromQL as text to a tree: the part of it that our rules and the conditions of alerts are written in, and nothing else.

The server asks the very rules that ``windrow ops rules`` writes for Prometheus, so that an alert means the same in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_TOKEN = re.compile(
    r"\s*(?:(?P<length>(?:\d+(?:ms|[smhdw]))+(?![\w.]))|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>[A-Za-z_][\w:]*)"
    r"|(?P<text>\"(?:[^\"\\]|\\.)*\")|(?P<sign>==|!=|<=|>=|=~|!~|[-+*/%<>=(){}\[\],:]))"
)
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})
# Loosest first.
_LEVELS = (frozenset({"or"}), frozenset({"and"}), COMPARISONS, frozenset({"+", "-"}), frozenset({"*", "/", "%"}))
_GATHERERS = frozenset({"sum", "max", "min", "count", "avg"})


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Matcher:
    """``op`` is one of =, !=, =~, !~."""

    label: str
    op: str
    value: str

    def admits(self, value: str) -> bool:
        """
        >>> Matcher("job_name", "=~", "a|b").admits("b"), Matcher("job_name", "!=", "a").admits("a")
        (True, False)
        """
        is_like = re.fullmatch(self.value, value) is not None if self.op.endswith("~") else value == self.value
        return is_like != self.op.startswith("!")


@dataclass(frozen=True)
class Selector:
    """Series by name and labels: their newest value, or all of the last ``within`` seconds. ``offset`` looks that much earlier."""

    name: str
    matchers: tuple[Matcher, ...] = ()
    within: float | None = None
    offset: float = 0.0


@dataclass(frozen=True)
class Steps:
    """An expression asked again every ``step`` seconds of the last ``within``."""

    inner: Node
    within: float
    step: float
    offset: float = 0.0


@dataclass(frozen=True)
class Called:
    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Gathered:
    """``sum by (labels) (inner)``."""

    how: str
    by: tuple[str, ...]
    inner: Node


@dataclass(frozen=True)
class Joined:
    """Two sides and what is between them. ``on`` is None where all labels must be the same; ``many_left``: several of the left to one."""

    op: str
    left: Node
    right: Node
    on: tuple[str, ...] | None = None
    many_left: bool = False


Node = Number | Selector | Steps | Called | Gathered | Joined


def read_promql(text: str) -> Node:
    """
    >>> read_promql('sum by (job_name) (rate(orders_total{a="b"}[5m])) > 5').op
    '>'
    """
    reader = _Reader(text, list(_tokens(text)))
    node = reader.level(0)
    if reader.kind:
        raise reader.fault()
    return node


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise _unread(text, at)
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
        at = match.end()


def _unread(text: str, at: int) -> ValueError:
    # Rules are made by us: this is never the fault of whoever wrote a file.
    return ValueError(f"this rule cannot be read: {text[:at]} >>> {text[at:]}")


def seconds_of(length: str) -> float:
    """
    >>> seconds_of("1h30m"), seconds_of("500ms")
    (5400.0, 0.5)
    """
    return sum(int(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+)(ms|[smhdw])", length))


class _Reader:
    def __init__(self, text: str, tokens: list[tuple[str, str, int]]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    @property
    def kind(self) -> str:
        """Empty at the end."""
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    @property
    def word(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def fault(self) -> ValueError:
        return _unread(self._text, self._tokens[self._at][2] if self.kind else len(self._text))

    def take(self, wanted: str | None = None) -> str:
        if not self.kind or (wanted is not None and self.word != wanted):
            raise self.fault()
        self._at += 1
        return self._tokens[self._at - 1][1]

    def has(self, word: str) -> bool:
        """Taken, if it stands there."""
        if self.word != word or self.kind == "text":
            return False
        self._at += 1
        return True

    def level(self, number: int) -> Node:
        if number == len(_LEVELS):
            return self.signed()
        left = self.level(number + 1)
        while self.word in _LEVELS[number] and self.kind != "text":
            op = self.take()
            on = self.labels() if self.has("on") else None
            many_left = self.has("group_left")
            if many_left:
                self.labels()
            left = Joined(op, left, self.level(number + 1), on, many_left)
        return left

    def labels(self) -> tuple[str, ...]:
        self.take("(")
        found = []
        while not self.has(")"):
            found.append(self.take())
            self.has(",")
        return tuple(found)

    def signed(self) -> Node:
        return Joined("*", Number(-1.0), self.signed()) if self.has("-") else self.ranged(self.single())

    def ranged(self, node: Node) -> Node:
        if self.has("["):
            within = self.length()
            if self.has(":"):
                node = Steps(node, within, self.length())
            elif isinstance(node, Selector):
                node = Selector(node.name, node.matchers, within)
            else:
                raise self.fault()
            self.take("]")
        if self.word == "offset" and isinstance(node, Selector | Steps):
            self.take()
            back = self.length()
            if isinstance(node, Selector):
                return Selector(node.name, node.matchers, node.within, back)
            return Steps(node.inner, node.within, node.step, back)
        return node

    def length(self) -> float:
        if self.kind != "length":
            raise self.fault()
        return seconds_of(self.take())

    def single(self) -> Node:
        if self.has("("):
            inner = self.level(0)
            self.take(")")
            return inner
        if self.kind == "number":
            return Number(float(self.take()))
        if self.kind != "word":
            raise self.fault()
        name = self.take()
        if name in _GATHERERS:
            by = self.labels() if self.has("by") else ()
            self.take("(")
            inner = self.level(0)
            self.take(")")
            return Gathered(name, by, inner)
        if self.has("("):
            return Called(name, self.arguments())
        return Selector(name, self.matchers() if self.has("{") else ())

    def arguments(self) -> tuple[Node, ...]:
        found = []
        while not self.has(")"):
            found.append(self.level(0))
            self.has(",")
        return tuple(found)

    def matchers(self) -> tuple[Matcher, ...]:
        found = []
        while not self.has("}"):
            label, op = self.take(), self.take()
            if self.kind != "text" or op not in ("=", "!=", "=~", "!~"):
                raise self.fault()
            found.append(Matcher(label, op, re.sub(r"\\(.)", r"\1", self.take()[1:-1])))
            self.has(",")
        return tuple(found)


def selectors(node: Node) -> Iterator[tuple[str, float]]:
    """Which series an expression asks for, and how many seconds back it looks for each."""
    match node:
        case Selector():
            yield node.name, (node.within or 0.0) + node.offset
        case Steps():
            yield from ((name, back + node.within + node.offset) for name, back in selectors(node.inner))
        case Called():
            for one in node.arguments:
                yield from selectors(one)
        case Gathered():
            yield from selectors(node.inner)
        case Joined():
            yield from selectors(node.left)
            yield from selectors(node.right)
        case Number():
            return
