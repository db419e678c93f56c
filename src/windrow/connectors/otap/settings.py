"""The options of an OTAP source as values."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from windrow.connectors.times import parse_duration, parse_time
from windrow.errors import UsageError
from windrow.otap.discovery import SpanTime, TimeRule
from windrow.otap.origins import ResourceIds
from windrow.otap.timing import Timing

LOG = logging.getLogger("windrow.otap")
SETTINGS_FILE = "settings.file"
# They say when a window is taken and how many at once, never what is in it: a window that was handed over stays as it was.
RELOADED = ("processing.delay", "max.clock.drift", "max.file.duration", "window.granularity", "max.concurrent.windows")


@dataclass(frozen=True)
class Settings:
    """``start`` is earliest, latest or nanoseconds; ``now`` is None where the machine's clock counts."""

    path: str
    table: str
    timing: Timing
    rule: TimeRule
    ids: ResourceIds
    start: str | int
    windows_at_once: int
    now: int | None


class LiveSettings:
    """The settings of a source whose file of settings may change while it runs. A change that makes no sense is not taken."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)
        self._stamp = self._look()
        self.current = read_settings(options)

    def refresh(self) -> bool:
        """Whether other settings are in force than before."""
        stamp = self._look()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            fresh = read_settings(self._options)
        except UsageError as error:
            LOG.warning("settings stay as they were: %s", error.message)
            return False
        is_changed = fresh != self.current
        if is_changed:
            LOG.info("settings from %s are in force", self._options[SETTINGS_FILE])
        self.current = fresh
        return is_changed

    def _look(self) -> tuple[int, int] | None:
        """What changes when the file does; None while there is none."""
        if SETTINGS_FILE not in self._options:
            return None
        try:
            found = Path(self._options[SETTINGS_FILE]).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def read_settings(given: Mapping[str, str]) -> Settings:
    options = {**given, **_from_file(given.get(SETTINGS_FILE))}
    timing = Timing(
        _nanos(options, "processing.delay"),
        _nanos(options, "max.clock.drift"),
        _nanos(options, "max.file.duration"),
        _nanos(options, "window.granularity"),
    )
    fault = timing.fault()
    if fault is not None:
        hint = "'processing.delay' = '10m', 'max.clock.drift' = '1m', 'max.file.duration' = '1m', 'window.granularity' = '1m'"
        raise UsageError("WR881", fault, hint)
    start = options["start.time"].strip().lower()
    at_once = options["max.concurrent.windows"].strip()
    if not at_once.isdecimal() or int(at_once) < 1:
        raise UsageError("WR881", f"'max.concurrent.windows' = '{at_once}': at least one window is taken", "'max.concurrent.windows' = '1'")
    return Settings(
        options["path"],
        options["table"].lower(),
        timing,
        TimeRule(cast(SpanTime, options["span.time"].lower()), options["time.fallback"].lower() == "observed"),
        cast(ResourceIds, options["resource.ids"].lower()),
        start if start in ("earliest", "latest") else _time_nanos(options, "start.time"),
        int(at_once),
        _time_nanos(options, "now") if "now" in options else None,
    )


def _from_file(path: str | None) -> dict[str, str]:
    """What the file of settings says in the place of options; nothing where there is no file."""
    if path is None:
        return {}
    hint = f'{{"processing.delay": "5m"}}; a file may have: {", ".join(RELOADED)}'
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError("WR881", f"'{SETTINGS_FILE}' = '{path}' cannot be read as JSON: {error}", hint) from None
    if not isinstance(found, dict):
        raise UsageError("WR881", f"'{SETTINGS_FILE}' = '{path}' holds no object", hint)
    others = [key for key in found if key not in RELOADED]
    if others:
        raise UsageError("WR881", f'{path}: "{others[0]}" cannot be changed while a job runs', hint)
    return {key: str(value) for key, value in found.items()}


def _nanos(options: Mapping[str, str], key: str) -> int:
    try:
        return parse_duration(options[key]) * 1000
    except ValueError as error:
        raise UsageError("WR881", f"'{key}' = '{options[key]}' is {error}", f"'{key}' = '1m'") from None


def _time_nanos(options: Mapping[str, str], key: str) -> int:
    try:
        return parse_time(options[key]) * 1000
    except ValueError as error:
        raise UsageError("WR881", f"'{key}' = '{options[key]}' is {error}", f"'{key}' = '2026-01-01T00:00:00Z'") from None
