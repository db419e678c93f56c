"""Logs: lines for people or JSON for machines, on standard error or in files that are rotated; no secrets, and no flood of one kind.

``structlog`` is imported here only, and only where logs are asked for.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, MutableMapping
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

from windrow.errors import UsageError, WindrowError
from windrow.model.secret_names import names_secret
from windrow.observe.log_context import log_fields

UNWRITABLE = "WR635"
FILE_BYTES, FILES_KEPT = 10 << 20, 5
# Lines of one kind in a second; those left out are counted in the next one.
MOST_A_SECOND = 1
_OWN = "windrow"
_CODE = re.compile(r"\[(WR\d{3})\]")
# What looks like a secret, wherever it stands: key=value in any spelling, and the password of an address.
_SECRETS = (
    re.compile(
        r"(?i)((?:password|passwd|secret|token|api[_.-]?key|sasl\.jaas\.config|authorization)[\"']?\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|bearer\s+\S+|[^\s,;&]+)"
    ),
    re.compile(r"(://[^\s:/@]+:)([^\s@/]+)(?=@)"),
)
MASK = "***"


def masked(text: str) -> str:
    """
    >>> masked("connect to postgres://joe:pw@db with password=hunter2, retry")
    'connect to postgres://joe:***@db with password=***, retry'
    """
    for pattern in _SECRETS:
        text = pattern.sub(rf"\1{MASK}", text)
    return text


class Limit(logging.Filter):
    """A kind is the code of an error, or else the text before its values are put in. What bad data cause may come a million times."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[str, tuple[float, int, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = f"{record.name} {record.levelno} {_code_of(record, record.getMessage()) or record.msg}"
        now = self._clock()
        since, told, left_out = self._seen.get(kind, (now, 0, 0))
        if now - since >= 1:
            since, told = now, 0
        if told >= MOST_A_SECOND:
            self._seen[kind] = since, told, left_out + 1
            return False
        if left_out:
            record.more = left_out
        self._seen[kind] = since, told + 1, 0
        return True


def set_up(as_json: bool, file: Path | None, stream: TextIO | None = None) -> Callable[[], None]:
    """Send what Windrow logs to a file, or to standard error; warnings only where no file is named and people read. Gives the way back."""
    handler = _handler(file, stream)
    handler.setFormatter(_formatter(as_json, is_terminal=file is None and (stream or sys.stderr).isatty()))
    handler.addFilter(Limit())
    logger = logging.getLogger(_OWN)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if as_json or file is not None else logging.WARNING)
    logger.propagate = False

    def undo() -> None:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before
        handler.close()

    return undo


def _handler(file: Path | None, stream: TextIO | None) -> logging.Handler:
    if file is None:
        return logging.StreamHandler(stream or sys.stderr)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        return RotatingFileHandler(file, maxBytes=FILE_BYTES, backupCount=FILES_KEPT, encoding="utf-8")
    except OSError as error:
        message = f"the log file {file} cannot be written: {error.strerror or error}"
        raise UsageError(UNWRITABLE, message, "--log-file names a file in a folder that you may write to") from error


def _formatter(as_json: bool, *, is_terminal: bool) -> logging.Formatter:
    import structlog

    def with_fields(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        record = event.get("_record")
        return {**log_fields(), **_fields_of(record, str(event.get("event"))), **event} if isinstance(record, logging.LogRecord) else event

    def without_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        return {key: _mask_all(value) if key not in ("_record", "_from_structlog") else value for key, value in event.items()}

    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        with_fields,
        structlog.processors.format_exc_info,
        without_secrets,
    ]
    if as_json:
        last: list[Any] = [
            structlog.processors.EventRenamer("message", replace_by="event_type"),
            structlog.processors.JSONRenderer(default=str),
        ]
    else:
        last = [structlog.dev.ConsoleRenderer(colors=is_terminal)]
    remove = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[remove, *last])


def _fields_of(record: logging.LogRecord, text: str) -> dict[str, Any]:
    """What a line says beside its text: of an event, of an error of ours, and how many of its kind were left out."""
    fields: dict[str, Any] = dict(getattr(record, "windrow", {}))
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, WindrowError):
        fields["error"] = {"type": type(error).__name__, "code": error.code, "hint": error.hint}
    if code := _code_of(record, text):
        fields["code"] = code
    if more := getattr(record, "more", 0):
        fields["more"] = more
    return fields


def _code_of(record: logging.LogRecord, text: str) -> str | None:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, WindrowError):
        return error.code
    found = _CODE.search(text)
    return found[1] if found else None


def _mask_all(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, dict):
        return {key: MASK if _is_secret(key) and each else _mask_all(each) for key, each in value.items()}
    return [_mask_all(each) for each in value] if isinstance(value, list | tuple) else value


def _is_secret(key: Any) -> bool:
    return isinstance(key, str) and names_secret(key)
