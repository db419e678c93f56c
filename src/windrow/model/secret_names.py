"""Which settings hold a secret, told by their names: what is never printed, whoever named it."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"pas+w|pwd|passphrase|secret|token|credential|api[._-]?key|private[._-]?key|authoriz|jaas|\bkey\.pem|basic\.auth", re.IGNORECASE
)
_USER_INFO = re.compile(r"(://[^\s:/@]+:)([^\s@/]+)(?=@)")
_ASSIGNED = re.compile(r"""(['"`]?)([\w.-]+)\1(\s*=\s*)('(?:[^']|'')*'|"[^"]*")""")


def names_secret(key: str) -> bool:
    """Whether a setting of this name is one to keep.

    >>> [key for key in ("user", "sasl.password", "api_key", "kafka.sasl.jaas.config") if names_secret(key)]
    ['sasl.password', 'api_key', 'kafka.sasl.jaas.config']
    """
    return _SECRET.search(key) is not None


def starred(line: str) -> str:
    """A line of SQL with stars for the values of secrets, as long as before. A placeholder tells nothing, so it stays.

    >>> starred("WITH ('user' = 'me', 'sasl.password' = 'hush', 'token' = '${TOKEN}')")
    "WITH ('user' = 'me', 'sasl.password' = '****', 'token' = '${TOKEN}')"
    >>> starred("'url' = 'postgresql://me:hush@db/shop'")
    "'url' = 'postgresql://me:****@db/shop'"
    """

    def hidden(found: re.Match[str]) -> str:
        value = found[4]
        if not names_secret(found[2]) or re.fullmatch(r"\$\{\w+\}", value[1:-1]):
            return found[0]
        return found[0][: -len(value)] + value[0] + "*" * (len(value) - 2) + value[-1]

    return _USER_INFO.sub(lambda found: found[1] + "*" * len(found[2]), _ASSIGNED.sub(hidden, line))
