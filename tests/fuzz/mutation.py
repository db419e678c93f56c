"""Wrong text made of good text: characters, words, clauses and statements dropped, doubled, swapped and replaced."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from random import Random

from tests.fuzz.grammar import written
from tests.fuzz.seeds import seeds

LONGEST = 6000

_WORD = re.compile(r"\w+|\s+|\S")
# Where a clause starts: what stands between two of these is moved as a whole.
_CLAUSE = re.compile(
    r"(?=\b(?:SELECT|FROM|WHERE|GROUP BY|WINDOW|HAVING|QUALIFY|ORDER BY|LIMIT|EMIT|WITH|JOIN|LEFT|UNION|ON|TRIGGER|AS|LATERAL|OVER)\b)",
    re.I,
)
_ALIKE = tuple(map(re.compile, (r"\b[a-z_]\w*\b(?!')", r"\b\d+(?:\.\d+)?", r"'[^']*'", r"\b[A-Z_]{2,}\b", r"\([^()]*\)", r"[=<>+*/-]")))
_STATEMENT = re.compile(r"(?<=;)")
_ODD = (
    *"'\"`;()[]<>.,:*-+/%$@#~\\\0\r\n\té\u2028\ufeff\ue000\ue001\U0001f600",
    *(
        "--",
        "/*",
        "*/",
        "::",
        "->",
        "..",
        "||",
        "<=>",
        "5x",
        "0x1F",
        "1e",
        "1e999",
        "1e-999",
        "99999999999999999999",
        "-0",
        "5m",
        "0s",
        "1w",
    ),
    *(
        "${",
        "${A}",
        "${A:-b}",
        "${A:?no}",
        "$${A}",
        "''",
        "'${A:-it''s}'",
        '""',
        "``",
        "NULL",
        "INTERVAL",
        "-- @metric: x\n",
        "-- @owner:\n",
    ),
    *("_event_time", "_window_start", "_headers", "_revision", "COUNT(*)", "SUM(1)", "x -> x", "(SELECT 1)", "NOT", "DISTINCT", "ALL"),
)


@cache
def _words() -> tuple[str, ...]:
    return tuple(sorted({word for seed in seeds() for word in _WORD.findall(seed) if not word.isspace()}))


def mutated(rng: Random) -> str:
    """A good text with one to six faults."""
    text = rng.choice(seeds()) if rng.random() < 0.8 else written(rng)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 6))):
        text = rng.choice(_CHANGES)(rng, text)[:LONGEST]
    return text


def _change_characters(rng: Random, text: str) -> str:
    """At the level of bytes: what is no UTF-8 any more reads as the replacement character, as an editor shows it."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    at = rng.randrange(len(data) + 1)
    action = rng.randrange(4)
    if action == 0:
        data[at:at] = bytes([rng.randrange(256)])
    elif action == 1:
        del data[at : at + rng.randrange(1, 9)]
    elif action == 2 and at < len(data):
        data[at] ^= 1 << rng.randrange(8)
    else:
        data[at:at] = data[at : at + rng.randrange(1, 30)]
    return data.decode("utf-8", "replace")


def _change_pieces(pieces: list[str], rng: Random, replacement: Callable[[], str]) -> str:
    at, other = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    action = rng.randrange(6)
    if action == 0:
        del pieces[at]
    elif action == 1:
        pieces.insert(at, pieces[other])
    elif action == 2:
        pieces[at], pieces[other] = pieces[other], pieces[at]
    elif action == 3:
        pieces.insert(at, f" {replacement()} ")
    elif action == 4:
        del pieces[min(at, other) : max(at, other) if rng.random() < 0.1 else min(at, other) + 3]
    else:
        pieces[at] = f" {replacement()} "
    return "".join(pieces)


def _change_words(rng: Random, text: str) -> str:
    return _change_pieces(_WORD.findall(text) or [" "], rng, lambda: rng.choice(_ODD if rng.random() < 0.3 else _words()))


def _change_alike(rng: Random, text: str) -> str:
    """A name for a name, a number for a number, a string for a string: what can still be read keeps the checks busy."""
    pattern = rng.choice(_ALIKE)
    places = list(pattern.finditer(text))
    if not places:
        return text
    place = rng.choice(places)
    others = places if rng.random() < 0.5 else list(pattern.finditer(rng.choice(seeds()))) or places
    return text[: place.start()] + rng.choice(others)[0] + text[place.end() :]


def _change_clauses(rng: Random, text: str) -> str:
    return _change_pieces(_CLAUSE.split(text), rng, lambda: rng.choice(_CLAUSE.split(rng.choice(seeds()))))


def _change_statements(rng: Random, text: str) -> str:
    return _change_pieces(_STATEMENT.split(text), rng, lambda: rng.choice(_STATEMENT.split(rng.choice(seeds()))))


def _wrap(rng: Random, text: str) -> str:
    """A word inside brackets, quotes or a call, many times over at times."""
    pieces = _WORD.findall(text) or [" "]
    at = rng.randrange(len(pieces))
    opening, closing = rng.choice(
        (("(", ")"), ("NOT (", ")"), ("'", "'"), ("`", "`"), ("/*", "*/"), ("abs(", ")"), ("(SELECT ", ")"), ("[", "]"))
    )
    times = rng.choice((1, 1, 1, 2, 3, 40, 200))
    pieces[at] = opening * times + pieces[at] + closing * times
    return "".join(pieces)


_CHANGES = (
    *(_change_alike,) * 6,
    *(_change_words,) * 2,
    *(_change_clauses, _change_statements),
    *(_change_characters, _wrap),
)
