"""Where spans go, and what is said of a collector that cannot be meant."""

from __future__ import annotations

import pytest

from windrow.errors import UsageError
from windrow.jobs import span_export as module
from windrow.jobs.options import check_setting
from windrow.jobs.span_export import span_export


def test_a_missing_sdk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(UsageError) as raised:
        span_export("http://localhost:4317", "grpc", "windrow")
    assert raised.value.code == "WR628"
    assert raised.value.hint == "python -m pip install 'windrow[otel]'"


def test_an_address_says_how_it_is_spoken_to() -> None:
    with pytest.raises(UsageError) as raised:
        check_setting("traces.endpoint", "localhost:4317")
    assert raised.value.code == "WR615"
    assert "starts with http:// or https://" in raised.value.message
    assert raised.value.hint == "--set traces.endpoint=http://localhost:4317"
