"""How strongly operators bind: read by the parser and by the renderer, so that the two cannot disagree."""

from __future__ import annotations

OR = 10
AND = 20
NOT = 30
PREDICATE = 40
COMPARISON = 50
SHIFT = 75
ADDITIVE = 80
UNARY = 100
POSTFIX = 110

BINARY: dict[str, int] = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys(("=", "!=", "<", "<=", ">", ">=", "<=>"), COMPARISON),
    "|": 60,
    "^": 65,
    "&": 70,
    **dict.fromkeys(("+", "-", "||"), ADDITIVE),
    **dict.fromkeys(("*", "/", "%", "DIV"), 90),
}
"""Every binary operator; all of them group from the left."""

SPELLINGS = {"==": "=", "<>": "!="}
