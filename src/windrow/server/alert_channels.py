"""How people and programs are told of alerts: a webhook, Alertmanager, mail, a file. Each takes several at once, or raises OSError."""

from __future__ import annotations

import hashlib
import hmac
import http.client
import json
import smtplib
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import Any, assert_never

from windrow.observe.alerts import RESOLVED, Alert
from windrow.server.alert_settings import AlertFile, Alertmanager, Channel, Email, Webhook

SIGNATURE, DELIVERY = "Windrow-Signature", "Windrow-Delivery"
_SECONDS = 10.0
# Alertmanager lets go of an alert that it is not told of again for so long.
KEPT_MILLIS = 5 * 60_000


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """What is sent is for the address in the file, and for no other that it might name."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects())


def send(channel: Channel, alerts: Sequence[Alert], page: str, now: int) -> None:
    match channel:
        case Webhook():
            _webhook(channel, alerts, page, now)
        case Alertmanager():
            _alertmanager(channel, alerts, page, now)
        case Email():
            _email(channel, alerts, page, now)
        case AlertFile():
            _file(channel, alerts, now)
        case _:
            assert_never(channel)


def alert_json(alert: Alert) -> dict[str, Any]:
    told = {**vars(alert), "labels": dict(alert.labels)}
    return {**told, "since": _moment(alert.since), "changed_at": _moment(alert.changed_at)}


def _moment(millis: int) -> str:
    """
    >>> _moment(1_767_225_600_000)
    '2026-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def signature(secret: str, at: int, body: bytes) -> str:
    """What a receiver makes again of the body and the time, to know that nobody else sent it and that it is not an old one.

    >>> signature("hush", 1767225600, b"{}")
    't=1767225600,v1=235486ea...'
    """
    made = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={made}"


def delivery_id(alerts: Sequence[Alert], now: int) -> str:
    """The same where the same is sent again because nobody answered: receivers drop what they have."""
    named = ",".join(sorted(f"{one.id}:{one.state}:{one.changed_at}" for one in alerts))
    return hashlib.sha256(f"{named} {now // 3_600_000}".encode()).hexdigest()[:24]


def _webhook(channel: Webhook, alerts: Sequence[Alert], page: str, now: int) -> None:
    link = f"{page}/#/events" if page else ""
    body = json.dumps({"version": 1, "page": link, "alerts": [alert_json(one) for one in alerts]}, ensure_ascii=False).encode()
    headers = {DELIVERY: delivery_id(alerts, now)}
    if channel.secret is not None:
        headers[SIGNATURE] = signature(channel.secret.get_secret_value(), now // 1000, body)
    if channel.token is not None:
        headers["Authorization"] = f"Bearer {channel.token.get_secret_value()}"
    _post(channel.url, body, headers)


def _alertmanager(channel: Alertmanager, alerts: Sequence[Alert], page: str, now: int) -> None:
    told = []
    for one in alerts:
        ends = one.changed_at if one.state == RESOLVED else now + KEPT_MILLIS
        notes = {"summary": one.summary, **({"description": one.what_to_do} if one.what_to_do else {})}
        labels = {**one.labels, "alertname": one.rule, "severity": one.level, "deployment": one.job}
        link = {"generatorURL": f"{page}/#/jobs/{one.job}"} if page else {}
        told.append({"labels": labels, "annotations": notes, "startsAt": _moment(one.since), "endsAt": _moment(ends), **link})
    headers = {} if channel.token is None else {"Authorization": f"Bearer {channel.token.get_secret_value()}"}
    _post(f"{channel.url.rstrip('/')}/api/v2/alerts", json.dumps(told).encode(), headers)


def _post(url: str, body: bytes, headers: Mapping[str, str]) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json", "User-Agent": "windrow", **headers}, method="POST")
    try:
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            answer.read(65_536)
    except urllib.error.HTTPError as error:
        with error:
            raise OSError(f"it answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise OSError(str(error.reason)) from None
    except http.client.HTTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None


def _email(channel: Email, alerts: Sequence[Alert], page: str, now: int) -> None:
    message = EmailMessage()
    firing = [one for one in alerts if one.state != RESOLVED]
    first = (firing or list(alerts))[0]
    more = f" and {len(alerts) - 1} more" if len(alerts) > 1 else ""
    message["Subject"] = _one_line(f"[{'windrow' if firing else 'windrow resolved'}] {first.rule} {first.job}{more}")
    message["From"], message["To"] = channel.sender, ", ".join(channel.to)
    message["Date"] = format_datetime(datetime.fromtimestamp(now / 1000, UTC))
    message["Message-ID"] = make_msgid(delivery_id(alerts, now), channel.sender.rpartition("@")[2] or "windrow")
    message.set_content("\n\n".join([*(_as_text(one) for one in alerts), *([f"{page}/#/events"] if page else [])]) + "\n")
    try:
        with _mail_server(channel) as server:
            if channel.user is not None and channel.password is not None:
                server.login(channel.user, channel.password.get_secret_value())
            server.send_message(message)
    except smtplib.SMTPException as error:
        raise OSError(f"{type(error).__name__}: {error}") from None


def _mail_server(channel: Email) -> smtplib.SMTP:
    if channel.security == "tls":
        return smtplib.SMTP_SSL(channel.host, channel.port, timeout=_SECONDS, context=ssl.create_default_context())
    server = smtplib.SMTP(channel.host, channel.port, timeout=_SECONDS)
    if channel.security == "starttls":
        try:
            server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
    return server


def _as_text(alert: Alert) -> str:
    lines = [f"{alert.state.upper()} {alert.rule} ({alert.level}) of {alert.job}", alert.summary]
    lines += [alert.what_to_do] if alert.what_to_do and alert.state != RESOLVED else []
    lines += [f"since {_moment(alert.since)}" + (f", over at {_moment(alert.changed_at)}" if alert.state == RESOLVED else "")]
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _file(channel: AlertFile, alerts: Sequence[Alert], now: int) -> None:
    channel.path.parent.mkdir(parents=True, exist_ok=True)
    with channel.path.open("a", encoding="utf-8") as out:
        out.writelines(json.dumps({"at": _moment(now), **alert_json(one)}, ensure_ascii=False) + "\n" for one in alerts)
