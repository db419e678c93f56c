"""The file that says who is told of alerts: channels, each with what it is told of. ``windrow serve --alerts alerts.yaml``.

A secret stands in it as ``${NAME}`` only, and takes its value from the server's environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from windrow.config.text import Item, Scalar, Table, read_yaml
from windrow.errors import Diagnostic, SqlError, UsageError
from windrow.model.place import SourceText, Span
from windrow.observe.promql_text import seconds_of
from windrow.sql.environment import fill

FILE_NAME = "alerts.yaml"
UNREADABLE = "WR942"
_SECRETS = frozenset({"secret", "password", "token"})
_PLACEHOLDER = re.compile(r"\$\{[^}]+\}")
_LENGTH = re.compile(r"(\d+[smhd])+")
Level = Literal["info", "warning", "critical", "emergency"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ChannelSettings(_Strict):
    """Which alerts a channel is told of: by level, job and rule; ``*`` stands for any letters. ``repeat`` is for those nobody takes on."""

    levels: tuple[Level, ...] = ("info", "warning", "critical", "emergency")
    jobs: tuple[str, ...] = ("*",)
    rules: tuple[str, ...] = ("*",)
    repeat: str = "4h"
    resolved: bool = True

    @field_validator("repeat")
    @classmethod
    def _is_length(cls, value: str) -> str:
        if not _LENGTH.fullmatch(value):
            raise ValueError("a length of time is written like 30m or 4h")
        return value

    @property
    def repeat_millis(self) -> int:
        return int(seconds_of(self.repeat) * 1000)


def _web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("an address begins with http:// or https://")
    return value


class Webhook(ChannelSettings):
    type: Literal["webhook"]
    url: str
    secret: SecretStr | None = None
    token: SecretStr | None = None

    _check_url = field_validator("url")(_web_address)


class Alertmanager(ChannelSettings):
    type: Literal["alertmanager"]
    url: str
    token: SecretStr | None = None

    _check_url = field_validator("url")(_web_address)


class Email(ChannelSettings):
    type: Literal["email"]
    host: str
    port: int = Field(default=587, ge=1, le=65535)
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password: SecretStr | None = None
    sender: str
    to: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_hidden(self) -> Self:
        if self.password is not None and self.security == "none" and self.host not in ("localhost", "127.0.0.1", "::1"):
            raise ValueError("a password is not sent without TLS to another machine")
        return self


class AlertFile(ChannelSettings):
    type: Literal["file"]
    path: Path


Channel = Annotated[Webhook | Alertmanager | Email | AlertFile, Field(discriminator="type")]


class RuleSettings(_Strict):
    on: bool = True
    hold: str | None = None
    level: Level | None = None

    _check_hold = field_validator("hold")(lambda value: value if value is None else ChannelSettings(repeat=value).repeat)

    @property
    def hold_seconds(self) -> int | None:
        return None if self.hold is None else int(seconds_of(self.hold))


class AlertSettings(_Strict):
    """``page`` is the address under which people reach the server: links of messages lead there."""

    page: str = ""
    channels: dict[str, Channel] = {}
    rules: dict[str, RuleSettings] = {}


def read_alert_settings(path: Path, environment: Mapping[str, str]) -> AlertSettings:
    """Raises SqlError with everything that is wrong, each with its place."""
    try:
        source = SourceText(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise UsageError(UNREADABLE, f"{path} cannot be read: {reason}", "windrow serve --alerts alerts.yaml") from error
    table, faults = read_yaml(source), list[Diagnostic]()
    values = _plain(table, environment, faults)
    if not faults:
        try:
            return AlertSettings.model_validate(values)
        except ValidationError as error:
            faults = [_fault(table, one["loc"], one["msg"], one["type"]) for one in error.errors()]
    raise SqlError(tuple(faults), source)


def _plain(item: Item, environment: Mapping[str, str], faults: list[Diagnostic], key: str = "") -> Any:
    match item:
        case Scalar(text=None):
            return None
        case Scalar(text=text, span=span):
            assert text is not None
            if key in _SECRETS and not _PLACEHOLDER.fullmatch(text):
                hint = f"{key}: ${{ALERT_{key.upper()}}}, and that variable where the server is started"
                faults.append(Diagnostic(UNREADABLE, "a secret does not stand in this file", span, hint))
                return ""
            value, wrong = fill(text, environment)
            faults += [Diagnostic(UNREADABLE, one.message, span, one.hint) for one in wrong]
            return value
        case Table():
            return {entry.key: _plain(entry.value, environment, faults, entry.key) for entry in item}
        case _:
            return [_plain(one, environment, faults, key) for one in item.items]


def _fault(table: Table, where: tuple[int | str, ...], message: str, kind: str) -> Diagnostic:
    """At the deepest key that is in the file. The kind of a channel is in the path as well, and is no key."""
    item: Item = table
    span, names = Span(0, 1), []
    for step in where:
        entry = item.find(str(step)) if isinstance(item, Table) else None
        if entry is not None:
            item, span = entry.value, entry.key_span
            names.append(entry.key)
    told = message.removeprefix("Value error, ")
    if kind == "missing":
        told = f"{where[-1]} is missing"
    if kind == "extra_forbidden":
        told = "this key is not known"
    hint = "channels: {ops: {type: webhook, url: 'https://example.org/alerts', secret: '${ALERT_SECRET}'}}"
    return Diagnostic(UNREADABLE, f"{'.'.join(names)}: {told}" if names else told, span, hint)
