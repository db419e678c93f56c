"""A place in the tokens of one statement, with the few moves that every grammar rule is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from windrow.errors import Diagnostic
from windrow.model.expr import Expr, SortKey
from windrow.model.place import Span
from windrow.model.query import Query
from windrow.sql import codes
from windrow.sql.dialect import Kind, Token
from windrow.sql.words import (
    ALIAS_AFTER_AS,
    CLAUSES,
    NOT_AN_ALIAS,
    RESERVED,
    STARTS_CLAUSE,
    STATEMENTS,
    WINDOW_CLAUSES,
    nearest,
    quote_name,
)

MAX_NESTING = 80
"""How deep parentheses may go. A level takes up to about eight Python frames, and Python allows a thousand."""

NESTING_HINT = "move inner parts into a WITH name AS (...)"

LARGEST = 2**63 - 1

T = TypeVar("T")


class SyntaxFaultError(Exception):
    """Ends the reading of one statement. Never leaves this package: the script reader gathers these into one SqlError."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic


@dataclass(frozen=True)
class Rules:
    """The two rules that hold each other. Handing them to the cursor keeps the grammar's modules free of import cycles."""

    expr: Callable[[Cursor, int], Expr]
    sort_key: Callable[[Cursor], SortKey]
    query: Callable[[Cursor], Query]


class Cursor:
    """Reads the tokens of one statement from left to right."""

    def __init__(self, tokens: list[Token], end: int, rules: Rules) -> None:
        self._tokens = tokens
        self._end = Token(Kind.END, "", end, end + 1)
        self._at = 0
        self._depth = 0
        self._bare_alias: Token | None = None
        self._rules = rules

    def expr(self, power: int = 0) -> Expr:
        """An expression whose operators bind at least as strongly as ``power``."""
        return self._rules.expr(self, power)

    def sort_key(self) -> SortKey:
        """One key of an ORDER BY."""
        return self._rules.sort_key(self)

    def query(self) -> Query:
        """A query inside another one."""
        return self._rules.query(self)

    def peek(self, ahead: int = 0) -> Token:
        index = self._at + ahead
        return self._tokens[index] if index < len(self._tokens) else self._end

    def advance(self) -> Token:
        token = self.peek()
        self._at += 1
        return token

    def at(self, *keys: str) -> bool:
        """Whether the next tokens are these words or symbols."""
        return all(self.peek(i).key == key for i, key in enumerate(keys))

    def at_any(self, keys: Iterable[str]) -> bool:
        return self.peek().key in keys and self.peek().key != ""

    def at_end(self) -> bool:
        return self.peek().kind is Kind.END

    def take(self, *keys: str) -> bool:
        """Moves past these words if they are next."""
        if not self.at(*keys):
            return False
        self._at += len(keys)
        return True

    def expect(self, *keys: str) -> Token:
        """Moves past these words, which must be next; gives the last of them."""
        for key in keys:
            if not self.at(key):
                raise self.expected(f'"{key}"' if not key[0].isalpha() else key, key)
            self.advance()
        return self._tokens[self._at - 1]

    def since(self, start: Token) -> Span:
        """From a token to the last one that was read."""
        return Span(start.start, self._tokens[self._at - 1].end if self._at else start.end)

    def last(self) -> Token:
        return self._tokens[self._at - 1]

    def between_commas(self, read: Callable[[Cursor], T]) -> tuple[T, ...]:
        """One or more of something, with commas between."""
        found = [read(self)]
        while self.take(","):
            found.append(read(self))
        return tuple(found)

    def in_parentheses(self, read: Callable[[Cursor], T]) -> T:
        self.expect("(")
        found = read(self)
        self.expect(")")
        return found

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Counts one level of nesting, and refuses one too many before Python's stack does."""
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self.fault(codes.TOO_DEEP, f"nested more than {MAX_NESTING} levels deep", hint=NESTING_HINT)
        yield
        self._depth -= 1

    @contextmanager
    def elsewhere(self, ahead: int) -> Iterator[None]:
        """Reads at a place further on, and comes back."""
        here = self._at
        self._at += ahead
        yield
        self._at = here

    # Names

    def name(self, what: str) -> str:
        """An identifier: a quoted name, or a word that is not reserved."""
        token = self.peek()
        if token.kind is Kind.QUOTED or (token.kind is Kind.WORD and not self.is_reserved()):
            return self.advance().text
        raise self.expected(what)

    def is_reserved(self) -> bool:
        return self.peek().key in RESERVED

    def alias(self) -> str | None:
        """``[AS] alias``, if there is one."""
        token = self.peek()
        if self.take("AS"):
            if self.at_any(ALIAS_AFTER_AS):
                return self.advance().text
            return self.name("a name after AS")
        is_bare = token.kind is Kind.WORD and token.key not in NOT_AN_ALIAS and (token.key, self.peek(1).key) not in STARTS_CLAUSE
        if is_bare:
            self._bare_alias = token
        return self.advance().text if is_bare or token.kind is Kind.QUOTED else None

    def count(self, what: str, least: int = 1) -> int:
        """A whole number that is not below ``least``."""
        token = self.peek()
        if token.kind is not Kind.NUMBER or not token.text.isdecimal():
            raise self.expected(what)
        if int(token.text) < least:
            raise self.fault(codes.BAD_LITERAL, f"{what} must be at least {least}, found {token.shown}", hint=f"write {least} or more")
        if int(token.text) > LARGEST:
            raise self.fault(codes.BAD_LITERAL, f"{what} is too large: {token.shown}", hint=f"write {LARGEST} or less")
        return int(self.advance().text)

    # Faults

    def fault(self, code: str, message: str, span: Span | None = None, hint: str | None = None) -> SyntaxFaultError:
        return SyntaxFaultError(Diagnostic(code, message, span or self.peek().span, hint))

    def expected(self, what: str, *choices: str) -> SyntaxFaultError:
        """The fault for a next token that is not what must come here."""
        misread = self._misspelled_alias()
        if misread is not None:
            return misread
        token = self.peek()
        hint = _EXAMPLES.get(what, f"write {what}")
        close = nearest(token.text, choices) if choices and token.kind is Kind.WORD else None
        if close:
            hint = f"did you mean {close}?"
        elif self._at and self.last().key == ",":
            hint = "remove the comma before it, or add what is missing"
        elif token.key in RESERVED and " name" in f" {what}":
            hint = f'"{token.text}" is a keyword; as a name it needs backticks: {quote_name(token.text)}'
        return self.fault(codes.SYNTAX, f"expected {what}, found {token.shown}", hint=hint)

    def unexpected(self) -> SyntaxFaultError:
        """The fault for a next token that nothing uses."""
        misread = self._misspelled_alias()
        if misread is not None:
            return misread
        token = self.peek()
        close = nearest(token.text, (*CLAUSES, *WINDOW_CLAUSES[1:]), 0.7) if token.kind is Kind.WORD else None
        hint = f"remove {token.shown}"
        if token.key == "(" and self._bare_alias is not None and self.last() is self._bare_alias:
            hint = f"put a comma before {self.last().text}"
        elif token.key in STATEMENTS and token.key != "WITH":
            hint = f"put ; between statements, before {token.key}"
        elif token.key in _BELONGS_TO_WINDOW or self.at("WITH", "WATERMARK"):
            hint = f"{token.key} belongs to a WINDOW clause, directly after WINDOW TUMBLING(...) or the like"
        elif close and close.split()[0] != token.key:
            hint = f"did you mean {close}?"
        elif close and close != token.key:
            hint = f"write {close}"
        return self.fault(codes.UNEXPECTED, f"unexpected {token.shown}", hint=hint)

    def _misspelled_alias(self) -> SyntaxFaultError | None:
        """Blames ``WHER`` in ``FROM t WHER a``: it was read as an alias, and what follows it then made no sense."""
        alias = self._bare_alias
        if alias is None or not self._at or self.last() is not alias:
            return None
        close = nearest(alias.text, (*CLAUSES, *WINDOW_CLAUSES, "LEFT", "RIGHT", "FULL", "INNER", "CROSS"), 0.7)
        return self.fault(codes.UNEXPECTED, f"unexpected {alias.shown}", alias.span, f"did you mean {close}?") if close else None


_EXAMPLES = {
    "an expression": "write a column, a value or a call, such as price * 2",
    "something to select before FROM": "write SELECT * FROM ..., or name the columns",
    "the name of a stream or table": "write a name, such as trades",
    "SELECT": "write a query, such as SELECT * FROM trades",
    "a unit of time": "write one of SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR",
    "ON or USING after JOIN": "write what is equal: ON a.key = b.key, or USING (key)",
    "a data type": "write one such as STRING, BIGINT, DOUBLE or TIMESTAMP",
}
_BELONGS_TO_WINDOW = frozenset({"TRIGGER", "ALLOWED_LATENESS", "LATE_DATA_STRATEGY"})
