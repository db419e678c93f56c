"""Comments put anywhere into good texts: formatting keeps the statements, and every comment in its order."""

from __future__ import annotations

from random import Random

from tests.fuzz.seeds import seeds
from windrow.sql import format_with_comments, parse, read
from windrow.sql.dialect import all_comments, tokenize

_EVERY = 7
_COMMENTS = (
    "-- {0}\n",
    "\n-- {0}\n",
    "/* {0} */",
    "\n  /* {0} */\n",
    "/* {0}\n   more */",
    "\n\n-- {0}\n\n",
    "-- @{0}: inside\n",
    " -- {0} ' \" ` ;\n",
)


def _commented(text: str, rng: Random) -> str:
    """The text with comments between some of its tokens."""
    parts, done = [], 0
    for number, token in enumerate(tokenize(text)):
        # What is written without a space between, such as INTERVAL and its parts, may have a comment there as well.
        if token.start and rng.random() < 0.15:
            parts += [text[done : token.start], rng.choice(_COMMENTS).format(f"c{number}")]
            done = token.start
    return "".join([*parts, text[done:], rng.choice(("", " -- end", "\n-- end", "\n\n/* end */\n"))])


def _comments(text: str) -> list[str]:
    return [" ".join(text[span.start : span.end].split()) for span in all_comments(text)]


def _judge(text: str, rng: Random, *, is_canonical: bool) -> None:
    commented = _commented(text, rng)
    script = parse(commented)
    laid_out = format_with_comments(script)
    again = parse(laid_out)
    assert again.statements == script.statements, commented
    assert format_with_comments(again) == laid_out, commented
    before, after = _comments(commented), _comments(laid_out)
    if not is_canonical:
        # A clause that moves to its place takes its comments along.
        before, after = sorted(before), sorted(after)
    assert after == before, commented


def test_comments_anywhere() -> None:
    readable = [(text, reading.script) for text in seeds()[::_EVERY] if "${" not in text and not (reading := read(text)).faults]
    assert len(readable) > 50
    for number, (text, script) in enumerate(readable):
        rng = Random(number)
        canonical = format_with_comments(script)
        _judge(canonical, rng, is_canonical=True)
        _judge(text, rng, is_canonical=False)
