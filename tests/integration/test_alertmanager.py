"""A real Alertmanager is told of the server's alerts, keeps them while they last, and hears that they are over. Needs no Spark."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.prometheus import await_that, free_port, json_of, running
from windrow.observe.alerts import FIRING, RESOLVED, Alert
from windrow.server.alert_book import AlertBook
from windrow.server.alert_settings import AlertSettings
from windrow.server.notify import Notifier
from windrow.server.registry import Registry, now_millis

PROGRAM = "prometheus-alertmanager"
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="Alertmanager is not installed"),
]


def _alert(state: str, since: int) -> Alert:
    labels = {"job_name": "orders", "system": "Kafka"}
    told = ("Kafka does not answer", state, 1.0, since, now_millis(), "", "orders@prod", "/health/connections has the error")
    return Alert("one", "WindrowSystemDown", labels, "warning", *told)


def test_an_alert_comes_and_goes(tmp_path: Path) -> None:
    address, log = f"127.0.0.1:{free_port()}", tmp_path / "alerts.log"
    (tmp_path / "alerts.yml").write_text(yaml.safe_dump({"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}))
    words = (f"--config.file={tmp_path}/alerts.yml", f"--storage.path={tmp_path}/am", f"--web.listen-address={address}")

    def told() -> list[Any]:
        found: list[Any] = json_of(f"http://{address}/api/v2/alerts?active=true") or []
        return found

    registry, since = Registry(tmp_path / "registry.db"), now_millis() - 60_000
    book = AlertBook(registry.database)
    channels = {"am": {"type": "alertmanager", "url": f"http://{address}"}}
    notifier = Notifier(AlertSettings.model_validate({"page": "http://here:8484", "channels": channels}), book, registry)
    with running(PROGRAM, *words, "--cluster.listen-address=", log=log):
        await_that(lambda: json_of(f"http://{address}/api/v2/status") is not None, lambda: "Alertmanager does not start", log)
        book.put([_alert(FIRING, since)])
        assert notifier.tell("am", notifier.channels["am"]) == 1, notifier.standing
        await_that(lambda: len(told()) == 1, told, log)
        (found,) = told()
        assert found["labels"] == {
            "alertname": "WindrowSystemDown",
            "severity": "warning",
            "deployment": "orders@prod",
            "job_name": "orders",
            "system": "Kafka",
        }
        assert found["annotations"]["summary"] == "Kafka does not answer"
        assert found["generatorURL"] == "http://here:8484/#/jobs/orders@prod"
        # Until it is said again, and for a few times in case it is not, but not for ever.
        assert found["endsAt"] > found["updatedAt"]
        book.put([_alert(RESOLVED, since)])
        assert notifier.tell("am", notifier.channels["am"]) == 1
        await_that(lambda: not told(), told, log)
    registry.close()
