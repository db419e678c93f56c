"""Keys of another system's configuration: what they are here, and why some mean nothing."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import InEnvironment
from windrow.config.shown import lines_of
from windrow.errors import SqlError

THEIRS = """windowing:
  performance_metrics: {size: 5m, allowed_lateness: 2m, emit_interval: 30s}
  user_feedback: {gap_seconds: 1800, max_duration: 4h}
watermarks: {max_out_of_order_delay: 2m, idle_timeout: 5m, emit_interval: 200ms}
state:
  hot: {max_size_mb: 512}
  warm: {max_size_gb: 2}
  cold: {ttl_days: 30, max_size_mb: 1024}
checkpointing: {interval_seconds: 60, retained: 5}
"""


def test_they_are_mapped_and_shown_as_mapped(in_environment: InEnvironment) -> None:
    lines = {line.key: (line.value, line.source) for line in lines_of(in_environment(THEIRS))}
    assert lines == {
        "windows.performance_metrics.size": ("5m", "windrow.yaml line 2, as windowing.performance_metrics.size"),
        "windows.performance_metrics.lateness": ("2m", "windrow.yaml line 2, as windowing.performance_metrics.allowed_lateness"),
        "windows.performance_metrics.trigger": (
            "EVERY 30s OR ON WATERMARK",
            "windrow.yaml line 2, as windowing.performance_metrics.emit_interval",
        ),
        "windows.user_feedback.gap": ("1800s", "windrow.yaml line 3, as windowing.user_feedback.gap_seconds"),
        "windows.user_feedback.max_duration": ("4h", "windrow.yaml line 3, as windowing.user_feedback.max_duration"),
        "watermark.delay": ("2m", "windrow.yaml line 4, as watermarks.max_out_of_order_delay"),
        "watermark.idle_timeout": ("5m", "windrow.yaml line 4, as watermarks.idle_timeout"),
        "trigger_interval": ("200ms", "windrow.yaml line 4, as watermarks.emit_interval"),
        "state.resident.max_bytes": ("536870912", "windrow.yaml line 6, as state.hot.max_size_mb"),
        "state.max_bytes": ("2147483648", "windrow.yaml line 7, as state.warm.max_size_gb"),
        "state.history.seconds": ("2592000", "windrow.yaml line 8, as state.cold.ttl_days"),
        "state.history.max_bytes": ("1073741824", "windrow.yaml line 8, as state.cold.max_size_mb"),
        # 60 s of batches of 200 ms.
        "state.snapshot.every": ("300", "windrow.yaml line 9, as checkpointing.interval_seconds"),
        "state.retain.batches": ("5", "windrow.yaml line 9, as checkpointing.retained"),
    }


def test_what_both_say_is_ours(in_environment: InEnvironment) -> None:
    found = in_environment("checkpointing: {interval_seconds: 60}\nenvironments: {dev: {state: {snapshot.every: 7}}}", "dev")
    assert found.settings == {"state.snapshot.every": "7"}


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("state: {cold: {postgres: {url: x}}}", "WR545", "a database gets it where the query writes it"),
        ("state: {cold: {ttl_seconds: soon}}", "WR542", "'soon'"),
        ("state: {hot: {ttl_seconds: 60}}", "WR545", "until it has closed"),
        ("windowing: {a: {type: tumbling}}", "WR545", "the query says it"),
        ("checkpointing: {enabled: false}", "WR545", "every batch"),
        ("watermarks: {max_out_of_order_dely: 5s}", "WR541", 'did you mean "max_out_of_order_delay"'),
        ("windowing: {a: {sise: 5m}}", "WR541", 'did you mean "size"'),
        ("state: {hot: {max_size_mb: lots}}", "WR542", "'lots'"),
        ("windowing: {a: {size: soon}}", "WR542", "'soon'"),
    ],
)
def test_what_means_nothing_is_refused_with_the_reason(in_environment: InEnvironment, text: str, code: str, told: str) -> None:
    with pytest.raises(SqlError) as caught:
        in_environment(text)
    assert [fault.code for fault in caught.value.diagnostics] == [code]
    assert told in str(caught.value)
