"""Secrets: a text that holds one is refused, and no answer has the value of one.

A secret comes from the environment of the server, as ``${NAME}``: a text is kept, compared and shown, and its author may not be the one
who looks.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from windrow.config.environments import MASK, is_secret, masked_address
from windrow.config.finding import FILE_NAME
from windrow.config.reading import Project, Written, read_project
from windrow.connectors.registry import CONNECTORS
from windrow.errors import Diagnostic, SqlError
from windrow.model.place import SourceText, Span
from windrow.model.secret_names import names_secret
from windrow.sql import placeholders
from windrow.sql.masking import option_values

SECRET = "WR950"
# What is called after a secret and says where or what it is, such as ssl.keystore.password.file.
_ABOUT_ONE = re.compile(r"(url|uri|location|source|file|path|type|class|mechanism|algorithm|field|column)$", re.IGNORECASE)
_HARMLESS = re.compile(r"|\d{1,9}|true|false|yes|no|on|off|none|null|auto|default", re.IGNORECASE)
_LEAST = 4


def refuse_secrets(sql: str, name: str, project: Project | None) -> None:
    """Raises SqlError with the place of every secret that is written out, in the text or in its ``windrow.yaml``."""
    found = [_fault(key, value.span) for key, value in option_values(sql) if _is_written_out(key, value.text, is_free=False)]
    if found:
        raise SqlError(tuple(found), SourceText(sql, f"{name}.sql"))
    wrong = [] if project is None else [_fault(one.path[-1], one.span) for one in _written_out(project)]
    if wrong and project is not None:
        raise SqlError(tuple(wrong), project.source)


def _written_out(project: Project) -> Iterator[Written]:
    for layer in project.layers.values():
        for one in layer.values:
            is_free = one.path[0] in ("variables", "settings")
            if one.text is not None and _is_written_out(one.path[-1], one.text, is_free=is_free):
                yield one


def _fault(key: str, span: Span) -> Diagnostic:
    hint = "write ${NAME} in its place, and set NAME in the environment of the server"
    return Diagnostic(SECRET, f'"{key}" holds a secret, which everybody would see who may look at the text', span, hint)


def _is_written_out(key: str, value: str, *, is_free: bool) -> bool:
    """``is_free``: the key is somebody's own name, and no connector has said what it means.

    >>> _is_written_out("password", "hush", is_free=False), _is_written_out("password", "${PW:-hush}", is_free=False)
    (True, True)
    >>> _is_written_out("url", "postgresql://me:${PW}@db", is_free=False), _is_written_out("MAX_TOKENS", "500", is_free=True)
    (False, False)
    """
    written = _without_placeholders(value)
    if masked_address(value) != value:
        return True
    if "://" in value or not (_keeps_to_itself(key) or (is_free and names_secret(key) and not _ABOUT_ONE.search(key))):
        return False
    # "Bearer ${TOKEN}" has its secret elsewhere; a default has it here.
    return written == value and not _HARMLESS.fullmatch(value)


def _without_placeholders(value: str) -> str:
    """The value without what stands for something of the environment; a default stays, as it is written out."""
    return re.sub(r"\$\{[A-Za-z_]\w*(:\?[^}]*)?\}", "", value)


def _keeps_to_itself(key: str) -> bool:
    """Whether a connector calls the value of this option a secret; of what it only hands on, the name tells."""
    wanted = key.lower()
    if is_secret((wanted,)):
        return True
    sides = (side for spec in CONNECTORS.values() for side in (spec.source, spec.sink))
    prefixes = {option.key[:-1].lower() for side in sides for option in side or () if option.is_secret and option.key.endswith(".*")}
    return any(wanted.startswith(one) for one in prefixes) and names_secret(wanted) and not _ABOUT_ONE.search(wanted)


def shown_text(sql: str) -> str:
    """A text as everybody may see it, whoever wrote it and when.

    >>> shown_text("WITH ('password' = 'hush', 'url' = 'postgresql://me:${PW}@db')")
    "WITH ('password' = '***', 'url' = 'postgresql://me:${PW}@db')"
    """
    parts: list[str] = []
    done = 0
    for key, value in option_values(sql):
        if _is_written_out(key, value.text, is_free=False):
            hidden = masked_address(value.text)
            quoted = (MASK if hidden == value.text else hidden).replace("'", "''")
            parts += [sql[done : value.start], f"'{quoted}'"]
            done = value.end
    return masked_address("".join([*parts, sql[done:]]))


def shown_project(text: str) -> str:
    """The same of a windrow.yaml; nothing of one that cannot be read any more.

    >>> shown_project("variables: {DB_PASSWORD: hush, TOPIC: a}")
    'variables: {DB_PASSWORD: ***, TOPIC: a}'
    """
    try:
        project = read_project(SourceText(text, FILE_NAME), Path())
    except SqlError:
        return f"# {MASK}\n"
    parts: list[str] = []
    done = 0
    for one in sorted(_written_out(project), key=lambda each: each.span.start):
        if one.span.start >= done:
            hidden = masked_address(text[one.span.start : one.span.end])
            is_address = hidden != text[one.span.start : one.span.end]
            parts += [text[done : one.span.start], hidden if is_address else MASK]
            done = one.span.end
    return masked_address("".join([*parts, text[done:]]))


def shown_flag(name: str, value: str | None, *, is_secret: bool) -> str | None:
    """
    >>> shown_flag("API_KEY", "abc", is_secret=False), shown_flag("SHARE", "5", is_secret=False)
    ('***', '5')
    """
    if value is None:
        return None
    return MASK if is_secret or _is_written_out(name, value, is_free=True) else value


class Secrets:
    """The values of the server's environment that no answer may have: those with telling names, and those that texts use as secrets."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._known: set[str] = set()
        self._values: tuple[str, ...] = ()
        self._learn(name for name in environment if names_secret(name) and not _ABOUT_ONE.search(name))

    def learn(self, sql: str) -> None:
        """What the options of a text keep to themselves."""
        self._learn(name for key, value in option_values(sql) if _keeps_to_itself(key) for name, _ in placeholders(value.text))

    def _learn(self, names: Iterable[str]) -> None:
        new = {name for name in names if name in self._environment} - self._known
        if not new:
            return
        with self._lock:
            self._known |= new
            values = {self._environment[name] for name in self._known}
            kept = [value for value in values if len(value) >= _LEAST and not _HARMLESS.fullmatch(value)]
            # The longest first: one may be part of another.
            self._values = tuple(sorted(kept, key=len, reverse=True))

    def hidden(self, text: str) -> str:
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return masked_address(text) if "://" in text or "=" in text else text

    def without(self, told: Any) -> Any:
        """The same as JSON has it, without a secret in any of its texts."""
        match told:
            case str():
                return self.hidden(told)
            case dict():
                return {key: self.without(value) for key, value in told.items()}
            case list() | tuple():
                return [self.without(one) for one in told]
            case _:
                return told

    def raised(self, error: SqlError) -> SqlError:
        """The error without secrets: a message may name the value that is wrong."""
        shown = tuple(
            Diagnostic(one.code, self.hidden(one.message), one.span, None if one.hint is None else self.hidden(one.hint), one.severity)
            for one in error.diagnostics
        )
        return SqlError(shown, error.source)


def stand_ins(texts: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """Values for texts that are only looked at: ``known``, and for every other name without a default the name itself."""
    return {**{name: f"${{{name}}}" for text in texts for name in _open(text) if name not in known}, **known}


def _open(text: str) -> Iterator[str]:
    return (name for name, default in placeholders(text) if default is None)
