"""Which settings hold a secret, told by their names: what is never printed, whoever named it."""

from __future__ import annotations

import re

_SECRET = re.compile(
    r"pas+w|pwd|passphrase|secret|token|credential|api[._-]?key|private[._-]?key|authoriz|jaas|\bkey\.pem|basic\.auth", re.IGNORECASE
)
_USER_INFO = re.compile(r"(://[^\s:/@]+:)([^\s@/]+)(?=@)")
# Keys of a WITH list: in single quotes, or bare where one of the list stands. A column of such a name is compared elsewhere.
_ASSIGNED = re.compile(r"(?P<key>'[\w.-]+'|[\w.-]+)\s*=\s*(?P<value>'(?:[^']|'')*'|\"[^\"]*\")")
_OPENED = re.compile(r"(?i)\bWITH\s*\($")


def names_secret(key: str) -> bool:
    """Whether a setting of this name is one to keep.

    >>> [key for key in ("user", "sasl.password", "api_key", "kafka.sasl.jaas.config") if names_secret(key)]
    ['sasl.password', 'api_key', 'kafka.sasl.jaas.config']
    """
    return _SECRET.search(key) is not None


def starred(line: str) -> str:
    """A line of SQL with stars for the values of secrets, as long as before. A placeholder tells nothing, so it stays.

    >>> starred("WITH ('user' = 'me', 'sasl.password' = 'hush', token = 'hush', 'key' = '${TOKEN}')")
    "WITH ('user' = 'me', 'sasl.password' = '****', token = '****', 'key' = '${TOKEN}')"
    >>> starred("'url' = 'postgresql://me:hush@db/shop'")
    "'url' = 'postgresql://me:****@db/shop'"
    >>> starred("SELECT COUNT_IF(token = 'in') FROM t WHERE token = 'out'")
    "SELECT COUNT_IF(token = 'in') FROM t WHERE token = 'out'"
    """

    def hidden(found: re.Match[str]) -> str:
        key, value = found["key"], found["value"]
        before = line[: found.start("key")].rstrip()
        is_listed = key.startswith("'") or not before or before.endswith(",") or _OPENED.search(before) is not None
        if not is_listed or not names_secret(key) or re.fullmatch(r"\$\{\w+\}", value[1:-1]):
            return found[0]
        return found[0][: -len(value)] + value[0] + "*" * (len(value) - 2) + value[-1]

    return _USER_INFO.sub(lambda found: found[1] + "*" * len(found[2]), _ASSIGNED.sub(hidden, line))
