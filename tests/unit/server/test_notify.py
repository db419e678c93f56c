"""Who is told of alerts: once, by real receivers, although one of them is away; and the file that names them."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.conftest import Server
from windrow.errors import SqlError
from windrow.observe.alerts import FIRING, PENDING, RESOLVED, Alert
from windrow.server.alert_book import AlertBook
from windrow.server.alert_channels import DELIVERY, SIGNATURE, signature
from windrow.server.alert_settings import AlertSettings, read_alert_settings
from windrow.server.alert_states import Standing
from windrow.server.alerting import Alerting
from windrow.server.notify import Notifier, due

MINUTE = 60_000


@dataclass
class Receiver:
    """A real HTTP server; ``status`` is what it answers."""

    status: int = 200
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


def notifier_of(server: Server, alerting: Alerting, **channels: dict[str, Any]) -> Notifier:
    settings = AlertSettings.model_validate({"page": "http://here:8484", "channels": channels})
    return Notifier(settings, alerting.book, server.registry)


def an_alert(server: Server, rule: str = "WindrowSystemDown", **more: Any) -> Alert:
    told = {"level": "warning", "summary": "Kafka does not answer", "state": FIRING, "value": 1.0, "job": "orders", **more}
    made = Alert(
        id=f"id-{rule}-{told['job']}",
        rule=rule,
        labels={"job_name": "orders"},
        since=1,
        changed_at=2,
        acknowledged_by="",
        what_to_do="look",
        **told,
    )
    AlertBook(server.registry.database).put([made])
    return made


def told_by(notifier: Notifier, name: str = "ops") -> int:
    return notifier.tell(name, notifier.channels[name])


def test_a_webhook_is_told_once_and_signed(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    notifier = notifier_of(server, alerting, ops={"type": "webhook", "url": f"{receiver.url}/hook", "secret": "hush"})
    alert = an_alert(server)
    assert [told_by(notifier) for _ in range(3)] == [1, 0, 0]
    ((path, headers, body),) = receiver.got
    told = json.loads(body)
    assert (path, told["page"], told["alerts"][0]["rule"], told["alerts"][0]["state"]) == (
        "/hook",
        "http://here:8484/#/events",
        alert.rule,
        FIRING,
    )
    at = int(headers[SIGNATURE].partition(",")[0].removeprefix("t="))
    assert abs(at - time.time()) < 60
    digest = hmac.new(b"hush", f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert headers[SIGNATURE] == f"t={at},v1={digest}" == signature("hush", at, body)
    an_alert(server, state=RESOLVED)
    assert [told_by(notifier) for _ in range(2)] == [1, 0]
    assert json.loads(receiver.got[1][2])["alerts"][0]["state"] == RESOLVED
    assert receiver.got[1][1][DELIVERY] != headers[DELIVERY]


def test_a_channel_that_does_not_answer_is_told_later_and_once(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    notifier = notifier_of(server, alerting, ops={"type": "webhook", "url": receiver.url})
    an_alert(server)
    receiver.status = 503
    assert [told_by(notifier) for _ in range(2)] == [0, 0]
    assert (notifier.standing["ops"].failures, notifier.standing["ops"].error) == (2, "it answers 503 Service Unavailable")
    receiver.status = 200
    assert [told_by(notifier) for _ in range(2)] == [1, 0]
    deliveries = {headers[DELIVERY] for _, headers, _ in receiver.got}
    assert len(deliveries) == 1
    kinds = [one.type for one in server.registry.events() if one.type.startswith("alert.")]
    assert kinds == ["alert.undelivered", "alert.delivered"]


def test_a_redirect_is_not_followed(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    notifier = notifier_of(server, alerting, ops={"type": "webhook", "url": receiver.url, "token": "wdr_hush"})
    an_alert(server)
    receiver.status = 302
    assert told_by(notifier) == 0
    assert len(receiver.got) == 1


def test_a_notifier_that_starts_again_knows_who_was_told(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    channel = {"type": "webhook", "url": receiver.url}
    an_alert(server)
    assert told_by(notifier_of(server, alerting, ops=channel)) == 1
    assert told_by(notifier_of(server, alerting, ops=channel)) == 0


def test_threads_tell_every_channel_although_one_is_away(server: Server, alerting: Alerting, receiver: Receiver, tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{closed.getsockname()[1]}"
    path = tmp_path / "told" / "alerts.jsonl"
    notifier = notifier_of(
        server,
        alerting,
        away={"type": "webhook", "url": gone},
        ops={"type": "webhook", "url": receiver.url},
        log={"type": "file", "path": str(path)},
    )
    an_alert(server)
    notifier.begin()
    _await(lambda: bool(receiver.got) and path.exists() and notifier.standing["away"].failures > 0)
    notifier.close()
    line = json.loads(path.read_text())
    assert (line["rule"], line["job"], line["state"]) == ("WindrowSystemDown", "orders", FIRING)


def _await(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def channel_of(**settings: Any) -> Any:
    return AlertSettings.model_validate({"channels": {"one": {"type": "file", "path": "x", **settings}}}).channels["one"]


def made(rule: str, state: str = FIRING, **more: Any) -> Alert:
    told = {"level": "warning", "value": 1.0, "since": 0, "changed_at": 0, "acknowledged_by": "", "job": "orders", **more}
    return Alert(id=rule, rule=rule, labels={}, summary="", state=state, what_to_do="", **told)


@pytest.mark.parametrize(
    ("settings", "alert", "told", "is_due"),
    [
        ({}, made("a"), None, True),
        ({}, made("a", PENDING), None, False),
        ({"levels": ["critical"]}, made("a"), None, False),
        ({"jobs": ["shop*"]}, made("a"), None, False),
        ({"jobs": ["ord*"]}, made("a"), None, True),
        ({"rules": ["b", "c"]}, made("a"), None, False),
        ({"repeat": "30m"}, made("a"), (FIRING, -29 * MINUTE), False),
        ({"repeat": "30m"}, made("a"), (FIRING, -31 * MINUTE), True),
        ({"repeat": "30m"}, made("a", acknowledged_by="ada"), (FIRING, -31 * MINUTE), False),
    ],
)
def test_what_is_due(settings: dict[str, Any], alert: Alert, told: tuple[str, int] | None, is_due: bool) -> None:
    known = {} if told is None else {alert.id: told}
    assert due(channel_of(**settings), [alert], [], known, Standing([alert], [], 0), 0) == ([alert] if is_due else [])


def test_what_is_silenced_is_told_once_the_silence_ends(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    notifier = notifier_of(server, alerting, ops={"type": "webhook", "url": receiver.url})
    an_alert(server)
    made_ = alerting.book.silence("WindrowSystemDown", "", 5, "ada", "upgrade")
    assert told_by(notifier) == 0
    alerting.book.end_silence(made_.id)
    assert told_by(notifier) == 1


def test_a_failed_job_stands_for_its_other_alerts(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    notifier = notifier_of(server, alerting, ops={"type": "webhook", "url": receiver.url})
    for rule, job in (("WindrowJobFailed", "orders"), ("WindrowNoProgress", "orders"), ("WindrowNoProgress", "shop")):
        an_alert(server, rule, job=job)
    assert told_by(notifier) == 2
    told = {(one["rule"], one["job"]) for one in json.loads(receiver.got[0][2])["alerts"]}
    assert told == {("WindrowJobFailed", "orders"), ("WindrowNoProgress", "shop")}


class MailServer:
    """As much of SMTP as it takes to be given a mail."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rw", newline="\r\n") as file:

            def answer(text: str) -> None:
                file.write(f"{text}\r\n")
                file.flush()

            answer("220 here")
            in_mail = False
            for line in file:
                self.lines.append(line.rstrip("\r\n"))
                if in_mail:
                    in_mail = line.rstrip("\r\n") != "."
                    if not in_mail:
                        answer("250 taken")
                    continue
                word = line[:4].upper().strip()
                in_mail = word == "DATA"
                answer({"DATA": "354 go on", "QUIT": "221 bye"}.get(word, "250 fine"))

    def close(self) -> None:
        self._listener.close()


PLAIN_MAIL = {"type": "email", "host": "127.0.0.1", "security": "none", "sender": "windrow@here", "to": ["ada@here"]}


def test_mail_is_sent(server: Server, alerting: Alerting) -> None:
    with contextlib.closing(MailServer()) as mail:
        settings = {
            "type": "email",
            "host": "127.0.0.1",
            "port": mail.port,
            "security": "none",
            "sender": "windrow@here",
            "to": ["ada@here", "bob@here"],
        }
        notifier = notifier_of(server, alerting, ops=settings)
        an_alert(server)
        an_alert(server, "WindrowJobFailed", job="shop\r\nBcc: eve@there", level="critical")
        assert told_by(notifier) == 2
    text = "\n".join(mail.lines)
    assert "Subject: [windrow]" in text
    assert [line for line in mail.lines if line.startswith("rcpt TO")] == ["rcpt TO:<ada@here>", "rcpt TO:<bob@here>"]
    # What a name holds stays in its line.
    assert not [line for line in mail.lines if line.startswith("Bcc")] or mail.lines.index("") < mail.lines.index("Bcc: eve@there")
    assert "FIRING WindrowSystemDown (warning) of orders" in text
    assert "http://here:8484/#/events" in text


def test_a_mail_server_that_refuses_is_said(server: Server, alerting: Alerting) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=lambda: listener.accept()[0].sendall(b"554 no\r\n"), daemon=True).start()
        settings = {
            "type": "email",
            "host": "127.0.0.1",
            "port": listener.getsockname()[1],
            "security": "none",
            "sender": "a@b",
            "to": ["c@d"],
        }
        notifier = notifier_of(server, alerting, ops=settings)
        an_alert(server)
        assert told_by(notifier) == 0
        assert "554" in notifier.standing["ops"].error


def test_a_channel_is_tried_out_over_the_api(server: Server, alerting: Alerting, receiver: Receiver) -> None:
    server.client.app.state.notifier = notifier_of(server, alerting, ops={"type": "webhook", "url": receiver.url})  # type: ignore[attr-defined]
    assert [one["name"] for one in server.ask("GET", "/channels", "read")] == ["ops"]  # type: ignore[attr-defined]
    server.ask("POST", "/channels/ops/test", "operate")
    assert json.loads(receiver.got[0][2])["alerts"][0]["rule"] == "WindrowTest"
    receiver.status = 500
    answer = server.client.post("/api/v1/channels/ops/test", headers=server.auth("operate"))
    assert (answer.status_code, answer.json()["code"]) == (422, "WR943")
    assert server.client.post("/api/v1/channels/no/test", headers=server.auth("operate")).status_code == 404


# The file


GOOD = """
page: https://windrow.example
channels:
  ops: {type: webhook, url: 'https://example.org/x', secret: '${HOOK}', levels: [critical, emergency]}
  am: {type: alertmanager, url: 'http://am:9093'}
  mail: {type: email, host: mail, sender: a@b, to: [c@d], user: me, password: '${MAIL}', repeat: 1h}
  log: {type: file, path: /var/log/alerts.jsonl}
rules:
  WindrowThroughputDrop: {on: no}
  WindrowNoProgress: {hold: 5m, level: emergency}
"""


def test_a_file_of_alerts(tmp_path: Path) -> None:
    (tmp_path / "alerts.yaml").write_text(GOOD)
    found = read_alert_settings(tmp_path / "alerts.yaml", {"HOOK": "hush", "MAIL": "pw"})
    assert [one.type for one in found.channels.values()] == ["webhook", "alertmanager", "email", "file"]
    assert (found.rules["WindrowNoProgress"].hold_seconds, found.rules["WindrowThroughputDrop"].on) == (300, False)
    assert found.channels["ops"].secret.get_secret_value() == "hush"  # type: ignore[union-attr]
    assert "hush" not in repr(found)


@pytest.mark.parametrize(
    ("wrong", "says", "line"),
    [
        (("'${HOOK}'", "hush"), "a secret does not stand in this file", 4),
        (("'${HOOK}'", "'${NOBODY}'"), "NOBODY", 4),
        (("type: file", "type: pigeon"), "channels.log", 7),
        (("repeat: 1h", "repeat: soon"), "channels.mail.repeat: a length of time", 6),
        (("url: 'http://am:9093'", "address: 'http://am:9093'"), "channels.am: url is missing", 5),
        (("url: 'http://am:9093'", "url: 'am:9093'"), "channels.am.url: an address begins with", 5),
        (("host: mail,", "host: mail, security: none,"), "channels.mail: a password is not sent", 6),
        (("level: emergency", "level: loud"), "rules.WindrowNoProgress.level", 10),
        (("rules:", "rulez:"), "rulez: this key is not known", 8),
    ],
)
def test_what_is_wrong_in_a_file_of_alerts_is_told_with_its_place(tmp_path: Path, wrong: tuple[str, str], says: str, line: int) -> None:
    assert wrong[0] in GOOD
    (tmp_path / "alerts.yaml").write_text(GOOD.replace(*wrong))
    with pytest.raises(SqlError) as refused:
        read_alert_settings(tmp_path / "alerts.yaml", {"HOOK": "hush", "MAIL": "pw"})
    told = refused.value.diagnostics[0]
    assert told.code == "WR942"
    assert says in told.message
    assert told.span is not None
    assert refused.value.source.position(told.span.start)[0] == line
