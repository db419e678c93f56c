"""SELECT over HISTORY OF statements of a job, by Polars: what windows said, closed ones and open ones. Starts no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise

import polars as pl

from windrow.errors import UsageError
from windrow.jobs.closed_windows import bytes_of, history_of, kept_statements
from windrow.jobs.history import JobHistory
from windrow.jobs.observed import ObservedJob
from windrow.jobs.system_sql import Result, ask, beyond_tables, has_alias, result_of, tokens_of_select
from windrow.model.row_protocol import EMISSION, END, START
from windrow.plan.stages import Aggregate
from windrow.sql.dialect import Kind, Token
from windrow.windowing.columns import CHANGE, EARLY

WRONG_QUESTION = "WR656"
_EXAMPLE = "SELECT * FROM HISTORY OF {}"


@dataclass(frozen=True)
class KeptHistory:
    """What the windows of one statement have said."""

    observed: ObservedJob
    stage: Aggregate
    rows: pl.DataFrame

    @property
    def name(self) -> str:
        return self.stage.name

    def silent(self) -> int:
        """How many windows are open and have not said anything, where none speaks before it closes."""
        if self.rows[EMISSION].is_in([EARLY, CHANGE]).any():
            return 0
        _, held = JobHistory(self.observed.job, self.observed.state).open_state(None)
        return next((one.windows.height for one in held if one.statement == self.name and one.windows is not None), 0)


def kept_histories(jobs: Iterable[ObservedJob]) -> list[KeptHistory]:
    stages = ((one, stage) for one in jobs for stage in kept_statements(one.job))
    return [KeptHistory(one, stage, rows) for one, stage in stages if (rows := history_of(one.folder, stage)) is not None]


def overview(kept: Sequence[KeptHistory]) -> Result:
    """A row for each statement: how many windows there are of it, from when to when, and in how many bytes."""
    rows = [
        {
            "statement": one.name,
            "windows": one.rows.height,
            "first": one.rows[START].min(),
            "last": one.rows[END].max(),
            "bytes": bytes_of(one.observed.folder, one.stage),
        }
        for one in kept
    ]
    return result_of(pl.DataFrame(rows))


def streams_asked(sql: str) -> list[str]:
    """
    >>> streams_asked("SELECT a.n FROM HISTORY OF minutes a JOIN HISTORY OF hours USING (k)")
    ['minutes', 'hours']
    """
    tokens = tokens_of_select(sql)
    return [tokens[at + 2].text for at in _places(tokens)]


def _places(tokens: list[Token]) -> Iterator[int]:
    for at in range(1, len(tokens) - 2):
        if tokens[at].key == "HISTORY" and tokens[at + 1].key == "OF" and tokens[at - 1].key in ("FROM", "JOIN", ","):
            yield at


def answer(sql: str, kept: Mapping[str, pl.DataFrame]) -> Result:
    """``kept`` has what is known of each stream, by its name."""
    known = {name.lower(): name for name in kept}
    tokens = tokens_of_select(sql)
    example = _EXAMPLE.format(next(iter(kept), "minutes"))
    if not tokens or not any(_places(tokens)):
        raise UsageError(WRONG_QUESTION, "a history answers one SELECT ... FROM HISTORY OF a stream", example)
    if (beyond := beyond_tables(tokens)) is not None:
        raise UsageError(WRONG_QUESTION, f"{beyond} is not for a history", example)
    parts: list[str] = []
    done, frames = 0, {}
    for at in _places(tokens):
        name = known.get(tokens[at + 2].text.lower())
        if name is None:
            raise _unknown(tokens[at + 2].text, kept)
        frames[f"history_{name}"] = kept[name]
        alias = "" if has_alias(tokens, at + 3) else f' AS "{name}"'
        parts += [sql[done : tokens[at].start], f'"history_{name}"{alias}']
        done = tokens[at + 2].end
    others = [one.text for one in _other_tables(tokens) if one.text.lower() in known]
    if others:
        raise UsageError(WRONG_QUESTION, f"{others[0]} alone is a stream that goes on", f"HISTORY OF {others[0]} is what it has said")
    columns = "; ".join(f"HISTORY OF {name} has {', '.join(kept[name].columns)}" for name in kept)
    text = "".join([*parts, sql[done : tokens[-1].end]])
    return ask(text, frames, lambda told: UsageError(WRONG_QUESTION, told.replace("history_", "HISTORY OF "), columns))


def _other_tables(tokens: list[Token]) -> Iterator[Token]:
    for before, token in pairwise(tokens):
        if before.key in ("FROM", "JOIN") and token.key != "HISTORY" and token.kind in (Kind.WORD, Kind.QUOTED):
            yield token


def _unknown(name: str, kept: Mapping[str, pl.DataFrame]) -> UsageError:
    close = get_close_matches(name, list(kept), 1)
    meant = f"did you mean {close[0]}? " if close else ""
    return UsageError(WRONG_QUESTION, f"no history of {name} is kept", f"{meant}there is one of {', '.join(kept)}")
