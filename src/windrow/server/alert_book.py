"""What the registry keeps of alerts: those that are and that were, who was told, silences, and rules that somebody changed."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from windrow.observe.alerts import FIRING, RESOLVED, Alert
from windrow.server.database import Database
from windrow.server.registry import now_millis

# Of those that are over; older ones go.
_MOST_KEPT = 10_000


@dataclass(frozen=True)
class Silence:
    """Of every rule, or of every job, where that is empty."""

    id: str
    rule: str
    job: str
    until_at: int
    created_by: str
    reason: str
    created_at: int

    def covers(self, alert: Alert, now: int) -> bool:
        return self.until_at > now and self.rule in ("", alert.rule) and self.job in ("", alert.job)


@dataclass(frozen=True)
class RuleChange:
    """What holds in the place of what a rule says itself; None where nothing does."""

    rule: str
    is_on: bool = True
    hold_seconds: int | None = None
    level: str | None = None
    changed_by: str = ""
    changed_at: int = 0


class AlertBook:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def _change(self, sql: str, *values: object) -> list[dict[str, Any]]:
        with self._db.change() as db:
            found: list[dict[str, Any]] = db.execute(sql, values)
        return found

    # Alerts

    def active(self) -> list[Alert]:
        """Oldest first."""
        return _alerts(self._db.all("SELECT * FROM alert WHERE state <> ? ORDER BY since, id", RESOLVED))

    def over(self, most: int, job: str | None = None) -> list[Alert]:
        """Newest first."""
        where, values = (" AND job = ?", (job,)) if job is not None else ("", ())
        sql = f"SELECT * FROM alert WHERE state = ?{where} ORDER BY changed_at DESC, id LIMIT ?"
        return _alerts(self._db.all(sql, RESOLVED, *values, most))

    def alert(self, id_: str) -> Alert | None:
        return next(iter(_alerts(self._db.all("SELECT * FROM alert WHERE id = ?", id_))), None)

    def put(self, alerts: Sequence[Alert]) -> None:
        """As they are now. One that never fired leaves no trace when it is over."""
        sql = (
            "INSERT INTO alert (id, rule, labels, level, summary, state, value, since, changed_at, acknowledged_by, job, what_to_do) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state, value = excluded.value, "
            "summary = excluded.summary, changed_at = excluded.changed_at"
        )
        with self._db.change() as db:
            for one in alerts:
                db.execute(sql, tuple({**vars(one), "labels": json.dumps(one.labels, sort_keys=True)}.values()))

    def drop(self, alerts: Sequence[Alert]) -> None:
        with self._db.change() as db:
            for one in alerts:
                db.execute("DELETE FROM alert WHERE id = ?", (one.id,))

    def acknowledge(self, id_: str, by: str) -> None:
        self._change("UPDATE alert SET acknowledged_by = ? WHERE id = ?", by, id_)

    def tidy(self) -> None:
        keep = "SELECT id FROM alert WHERE state = ? ORDER BY changed_at DESC LIMIT ?"
        with self._db.change() as db:
            db.execute(f"DELETE FROM alert WHERE state = ? AND id NOT IN ({keep})", (RESOLVED, RESOLVED, _MOST_KEPT))
            db.execute("DELETE FROM alert_told WHERE alert NOT IN (SELECT id FROM alert)")
            db.execute("DELETE FROM silence WHERE until_at < ?", (now_millis() - 30 * 86_400_000,))

    # Who was told

    def told(self, channel: str) -> dict[str, tuple[str, int]]:
        """By alert: which state was told, and when."""
        rows = self._db.all("SELECT alert, state, at FROM alert_told WHERE channel = ?", channel)
        return {row["alert"]: (row["state"], int(row["at"])) for row in rows}

    def note_told(self, channel: str, alerts: Sequence[Alert], at: int) -> None:
        sql = (
            "INSERT INTO alert_told (alert, channel, state, at) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (alert, channel) DO UPDATE SET state = excluded.state, at = excluded.at"
        )
        with self._db.change() as db:
            for one in alerts:
                db.execute(sql, (one.id, channel, one.state, at))

    def over_and_untold(self, channel: str) -> list[Alert]:
        """Those of which a channel knows only that they fire."""
        joined = "alert JOIN alert_told ON alert.id = alert_told.alert"
        sql = f"SELECT alert.* FROM {joined} WHERE channel = ? AND alert_told.state = ? AND alert.state = ?"
        return _alerts(self._db.all(sql, channel, FIRING, RESOLVED))

    # Silences, and rules that were changed

    def silences(self, now: int | None = None) -> list[Silence]:
        """Those in force, the first to end first."""
        rows = self._db.all("SELECT * FROM silence WHERE until_at > ? ORDER BY until_at", now_millis() if now is None else now)
        return [Silence(**row) for row in rows]

    def silence(self, rule: str, job: str, minutes: int, by: str, reason: str) -> Silence:
        now = now_millis()
        made = Silence(secrets.token_hex(6), rule, job, now + minutes * 60_000, by, reason, now)
        self._change(
            "INSERT INTO silence (id, rule, job, until_at, created_by, reason, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
            *vars(made).values(),
        )
        return made

    def end_silence(self, id_: str) -> bool:
        """False where there is none."""
        return bool(self._change("DELETE FROM silence WHERE id = ? RETURNING id", id_))

    def rule_changes(self) -> dict[str, RuleChange]:
        rows = self._db.all("SELECT * FROM alert_rule")
        return {row["rule"]: RuleChange(**{**row, "is_on": bool(row["is_on"])}) for row in rows}

    def change_rule(self, change: RuleChange, by: str) -> RuleChange:
        made = replace(change, changed_by=by, changed_at=now_millis())
        sql = (
            "INSERT INTO alert_rule (rule, is_on, hold_seconds, level, changed_by, changed_at) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (rule) DO UPDATE SET is_on = excluded.is_on, hold_seconds = excluded.hold_seconds, level = excluded.level, "
            "changed_by = excluded.changed_by, changed_at = excluded.changed_at"
        )
        self._change(sql, *{**vars(made), "is_on": int(made.is_on)}.values())
        return made


def _alerts(rows: Sequence[dict[str, Any]]) -> list[Alert]:
    return [Alert(**{**row, "labels": json.loads(row["labels"])}) for row in rows]
