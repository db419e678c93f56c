"""Metrics: each declared once, told as Prometheus wants them, and counters that never fall."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter

import pytest
from prometheus_client.parser import text_string_to_metric_families

import windrow
from tests.unit.serving.statuses import status
from windrow.jobs.identity import about_of
from windrow.observe.instruments import INSTRUMENTS, MOST_PARTITIONS, Kind
from windrow.observe.ledger import Account, Ledger, TakenBack
from windrow.observe.prometheus import exposition, registry_of
from windrow.observe.samples import samples_of
from windrow.observe.status import JobAbout, JobStatus, PartitionStatus, SourceStatus


def _text(*statuses: JobStatus) -> str:
    return exposition(registry_of(lambda: statuses), "")[1].decode()


def _values(told: JobStatus) -> dict[tuple[str, ...], float]:
    return {(one.instrument.name, *one.labels[1:]): one.value for one in samples_of(told, 2000.0) if isinstance(one.value, float | int)}


def test_names_follow_the_rules_of_prometheus() -> None:
    for instrument in INSTRUMENTS.values():
        assert re.fullmatch(r"windrow_[a-z_]+", instrument.full_name)
        assert instrument.help.endswith(".")
        assert (instrument.kind is Kind.COUNTER) == instrument.name.endswith("_total"), instrument.name
        assert not instrument.is_durable or instrument.kind is Kind.COUNTER


def test_every_sample_fits_its_instrument() -> None:
    for sample in samples_of(status()):
        assert len(sample.labels) == len(sample.instrument.all_labels)
        assert all(isinstance(label, str) for label in sample.labels)


def test_rows_are_told_by_fate_and_add_up() -> None:
    found = _values(status())
    assert found["rows_in_total", "orders"] == 10
    assert found["dead_letters_total", "orders", "WR701"] == 5
    assert found["dead_letters_replayed_total", "orders", "WR701"] == 3
    dead = found["dead_letters_total", "orders", "WR701"] - found["dead_letters_replayed_total", "orders", "WR701"]
    dropped = found["dropped_events_total", "orders", "WR704"]
    assert found["rows_in_total", "orders"] == found["rows_passed_total", "orders"] + dead + dropped
    assert found["ledger_balanced",] == 1
    assert found["late_events_total", "totals", "corrected"] == 1
    assert found["late_events_total", "totals", "dead"] == 1
    taken = found["statement_rows_passed_total", "totals"] + found["rows_filtered_total", "totals"]
    assert found["statement_rows_in_total", "totals"] == taken + found["dead_letters_total", "totals", "WR705"]


def test_what_was_put_out_is_told_by_kind() -> None:
    kinds = Account(rows_in=9, passed=9, emitted=6, emissions=Counter(final=3, late=1, retract=1))
    found = _values(status(ledger=Ledger({}, {"totals": kinds, "copies": Account(rows_in=2, passed=2, emitted=2)})))
    told = {key[1:]: value for key, value in found.items() if key[0] == "rows_emitted_total"}
    # One row is of before kinds were counted.
    assert told == {("totals", "final"): 3, ("totals", "late"): 1, ("totals", "retract"): 1, ("totals", ""): 1, ("copies", ""): 2}
    data = kinds.to_json()
    assert Account.from_json(data) == kinds
    del data["emissions"]
    assert Account.from_json(data).emissions == Counter()


def test_a_job_says_what_it_is_a_part_of() -> None:
    found = _values(status(about=JobAbout("shop", "1.2", "prod", "4.3.0", starts=3)))
    assert found["job_info", "shop", "1.2", "prod"] == 1
    assert found["job_restarts_total",] == 2
    assert found["errors_total", "WR860", "transient"] == 1
    assert [key[2] for key in found if key[0] == "build_info"] == ["4.3.0"]


def test_pipeline_and_version_come_from_annotations_else_from_the_file() -> None:
    sql = "CREATE STREAM t (v INT) WITH ('connector' = 'memory'); SELECT v FROM t"
    plain, told = (windrow.compile(text, name="q/shop.sql").plan for text in (sql, f"-- @app: store\n-- @version: 1.2\n{sql}"))
    assert about_of(plain, "", "4").pipeline == "shop"
    assert about_of(told, "prod", "4") == JobAbout("store", "1.2", "prod", "4")


def test_a_replay_makes_no_counter_fall() -> None:
    ledger = Ledger({"orders": Account(rows_in=5, passed=3, dead=Counter(WR701=2))})
    before = _values(status(ledger=ledger))
    replay = Ledger()
    replay.source("orders").take_back(TakenBack(Counter({"WR701": 2})))
    replay.source("orders").add(Account(rows_in=2, passed=1, dead=Counter(WR701=1)))
    ledger.add(replay)
    after = _values(status(ledger=Ledger.from_json(ledger.to_json())))
    assert ledger.is_balanced
    counters = {key for key in before if INSTRUMENTS[key[0]].kind is Kind.COUNTER}
    assert all(after[key] >= before[key] for key in counters)
    assert after["dead_letters_total", "orders", "WR701"] == 3
    assert after["dead_letters_replayed_total", "orders", "WR701"] == 2


def test_an_account_of_before_replays_were_counted_is_read() -> None:
    data = Account(rows_in=1, passed=1).to_json()
    del data["replayed"]
    assert Account.from_json(data).ever_dead == Counter()


def test_partitions_beyond_the_cap_have_no_series() -> None:
    many = tuple(PartitionStatus(number, number, number, 0, False) for number in range(MOST_PARTITIONS + 50))
    backlog = {str(number): number for number in range(MOST_PARTITIONS + 50)}
    found = _values(status(sources=(SourceStatus("orders", many, 10, backlog),)))
    lags = [key for key in found if key[0] == "watermark_lag_seconds"]
    assert len(lags) == MOST_PARTITIONS
    assert ("watermark_lag_seconds", "orders", "0") in found
    told = {key[2]: value for key, value in found.items() if key[0] == "source_backlog_rows"}
    assert len(told) == MOST_PARTITIONS + 1
    assert sum(told.values()) == sum(backlog.values())


def test_what_is_told_can_be_read_again() -> None:
    families = {family.name: family for family in text_string_to_metric_families(_text(status()))}
    assert {family.type for family in families.values()} == {"counter", "gauge", "histogram"}
    buckets = [sample for sample in families["windrow_batch_duration_seconds"].samples if sample.name.endswith("_count")]
    assert buckets[0].value == 1
    states = {s.labels["state"]: s.value for s in families["windrow_job_state"].samples}
    assert (states["running"], sum(states.values())) == (1, 1)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_nothing_wrong() -> None:
    done = subprocess.run(["promtool", "check", "metrics"], input=_text(status()), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr + done.stdout) == (0, "")
