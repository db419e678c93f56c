"""What must hold for every text: it is refused with a word on where and why, or it compiles and its layout means the same."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from types import FrameType

import windrow
from windrow.cli.codes import BARE_PLACEHOLDER
from windrow.compiler import Compiled
from windrow.errors import SqlError, UsageError
from windrow.sql import canonical_layout, parse
from windrow.sql.dialect import all_comments

WATCHDOG_SECONDS = 120


class HangingError(Exception):
    """An input took longer than any input of its size may."""


def judge(text: str) -> str:
    """``refused``, ``read`` (it parses, but the checks refuse it) or ``compiled``; an AssertionError where something does not hold."""
    try:
        compiled = windrow.compile(text, name="fuzz", env={})
    except SqlError as error:
        _judge_diagnostics(error)
        return _judge_refused(text)
    formatted = _judge_layout(text)
    if formatted is not None:
        _judge_same(compiled, windrow.compile(formatted, name="fuzz", env={}))
    return "compiled"


def judge_many(make: Callable[[Random], str], seed: int, count: int) -> Counter[str]:
    """Judge so many texts. Each has a seed of its own, so that one failing text can be made again alone."""
    verdicts: Counter[str] = Counter()
    for number in range(count):
        text = make(Random(f"{seed}/{number}"))
        try:
            with _watched():
                verdicts[judge(text)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, input {number}: {type(error).__name__}: {error}\n{text!r}") from error
    return verdicts


def _judge_diagnostics(error: SqlError) -> None:
    assert error.diagnostics
    length = len(error.source.text)
    for found in error.diagnostics:
        assert found.code.startswith("WR"), found
        assert found.message, found
        assert found.span is not None, found
        # An end of the text that was expected later has no character: its place is the one behind the last.
        assert 0 <= found.span.start < found.span.end <= max(length, found.span.start) + 1, (found, length)
        assert found.span.start <= length, (found, length)
    str(error)  # shows every diagnostic, which must not fail either


def _judge_refused(text: str) -> str:
    """What the checks refuse may still be laid out; what cannot be read cannot."""
    try:
        parse(text, "fuzz", {})
    except SqlError:
        try:
            _lay_out(text)
        except SqlError as error:
            _judge_diagnostics(error)
        return "refused"
    _judge_layout(text)
    return "read"


def _judge_layout(text: str) -> str | None:
    """The canonical text, laid out once more without a change; None where a bare placeholder forbids it."""
    formatted = _lay_out(text)
    if formatted is None:
        return None
    assert canonical_layout(formatted, "fuzz") == formatted
    assert sorted(_comments(formatted)) == sorted(_comments(text))
    assert parse(formatted, "fuzz", {}).statements == parse(text, "fuzz", {}).statements
    return formatted


def _comments(text: str) -> list[str]:
    """The words of every comment: the spaces of an annotation are the formatter's."""
    return [" ".join(text[span.start : span.end].removeprefix("--").replace(":", " : ").split()) for span in all_comments(text)]


def _lay_out(text: str) -> str | None:
    try:
        return canonical_layout(text, "fuzz")
    except UsageError as error:
        if error.code != BARE_PLACEHOLDER:
            raise
        return None


def _judge_same(one: Compiled, other: Compiled) -> None:
    assert one.plan == other.plan
    assert one.explain() == other.explain()


@contextmanager
def _watched() -> Iterator[None]:
    def bark(_number: int, _frame: FrameType | None) -> None:
        raise HangingError(f"no verdict in {WATCHDOG_SECONDS} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.alarm(WATCHDOG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
