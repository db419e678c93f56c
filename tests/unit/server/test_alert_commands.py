"""``windrow alerts``: what the commands ask of a server, and what they print."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tests.unit.server.conftest import Server
from tests.unit.server.test_notify import an_alert
from tests.unit.server.test_remote_changes import Near
from windrow.cli import alerts
from windrow.cli.main import app


def said(*words: str) -> str:
    done = CliRunner().invoke(app, ["alerts", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_an_alert_is_listed_taken_on_and_silenced(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "client_of", lambda _url, _token: Near(server))
    assert said("list") == "no alert: every rule is content\n"
    server.deploy(starts=False)
    alert = an_alert(server)
    assert alert.id in said("list")
    assert said("ack", alert.id) == "WindrowSystemDown of orders is taken on by admin\n"
    assert "firing, with admin" in said("list")
    told = said("silence", "WindrowSystemDown", "--job", "orders", "--because", "upgrade")
    assert "firing, silenced" in said("list")
    assert said("unsilence", told.split()[-3]) == "it is told again\n"
    assert said("rule", "WindrowThroughputDrop", "--off") == "WindrowThroughputDrop is off\n"
    (line,) = [one for one in said("rules").splitlines() if one.startswith("WindrowThroughputDrop")]
    assert " off " in line
