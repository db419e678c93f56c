"""The codes of this package, each declared once: WR100 to WR199 are about the text, before any name is looked up."""

from __future__ import annotations

SYNTAX = "WR100"
UNEXPECTED = "WR101"
EMPTY = "WR102"
MISSING_VARIABLE = "WR103"
BAD_DURATION = "WR104"
REPEATED = "WR105"
BAD_EMIT = "WR106"
BAD_PLACEHOLDER = "WR107"
UNCLOSED = "WR108"
BAD_LITERAL = "WR109"
UNKNOWN_TYPE = "WR110"
BAD_WINDOW = "WR111"
WINDOW_SIZE = "WR112"
UNKNOWN_STATEMENT = "WR113"
TOO_DEEP = "WR114"
MISPLACED = "WR115"
UNKNOWN_CHOICE = "WR116"
HINT_COMMENT = "WR117"
FOREIGN = "WR118"

SYNTAX_CODES: dict[str, str] = {
    SYNTAX: "something else was expected at this place",
    UNEXPECTED: "text that no clause uses",
    EMPTY: "the file holds no statement",
    MISSING_VARIABLE: "an environment variable that the file needs is not set",
    BAD_DURATION: "not a length of time",
    REPEATED: "a clause, option or mark is given twice",
    BAD_EMIT: "unknown EMIT mode",
    BAD_PLACEHOLDER: "a ${...} placeholder is malformed",
    UNCLOSED: "a quote or comment is opened and never closed",
    BAD_LITERAL: "a character or number that SQL cannot read",
    UNKNOWN_TYPE: "unknown data type",
    BAD_WINDOW: "unknown window kind, or arguments that do not fit it",
    WINDOW_SIZE: "a window length that is out of range",
    UNKNOWN_STATEMENT: "unknown kind of statement",
    TOO_DEEP: "nested too deeply",
    MISPLACED: "a clause that is not allowed at this place",
    UNKNOWN_CHOICE: "a word that is not one of the choices here",
    HINT_COMMENT: "optimizer hints are not supported",
    FOREIGN: "a word of another dialect, which is written in another way here",
}
