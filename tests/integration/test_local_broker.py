"""The local broker: what it holds survives a kill, and it says clearly why it does not start."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.integration.conftest import Broker
from windrow.errors import UsageError
from windrow.local.kafka import LocalBroker, answers


def test_a_killed_broker_comes_back_with_its_topics(tmp_path: Path) -> None:
    broker = Broker(tmp_path)
    broker.start()
    try:
        topic = broker.topic(partitions=3)
        broker.kill()
        assert not answers(broker.address, seconds=0.5)
        broker.start()
        assert len(broker.admin.list_topics(timeout=10).topics[topic].partitions) == 3
        # Another process finds it by its folder.
        other = LocalBroker(tmp_path)
        assert other.status().is_running
        assert other.address == broker.address
        other.stop()
        assert not LocalBroker(tmp_path).status().is_running
    finally:
        broker.kill()


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 is in use"):
            LocalBroker(tmp_path, port).start()
