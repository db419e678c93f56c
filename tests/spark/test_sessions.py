"""A session that somebody hands over stays as it is, and what was set there holds for our jobs too."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from windrow.connectors.zones import in_zone
from windrow.spark.internals.fast_paths import fast_paths_of
from windrow.spark.session import MEANING, SPEED, adopt_session

MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
SHUFFLES = "spark.sql.shuffle.partitions"


@pytest.fixture
def users(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of a user's own, on the same cluster."""
    session = spark.newSession()
    yield session
    for key in (*SPEED, *MEANING, SHUFFLES):
        session.conf.unset(key)


def test_what_the_user_has_set_goes_first(users: SparkSession) -> None:
    users.conf.set("spark.sql.adaptive.enabled", "true")
    users.conf.set(MANAGER, "com.example.Manager")
    users.conf.set(SHUFFLES, "7")
    users.conf.set("spark.sql.parquet.mergeSchema", "true")
    # Of a catalog of the user's own, Spark knows no more than its name.
    users.conf.set("spark.sql.catalog.mine", "com.example.Catalog")
    before = dict(users.conf.getAll)
    own = adopt_session(users)
    assert own.conf.get("spark.sql.adaptive.enabled") == "true"
    assert own.conf.get(MANAGER) == "com.example.Manager"
    assert own.conf.get(SHUFFLES) == "7"
    assert own.conf.get("spark.sql.parquet.mergeSchema") == "true"
    assert own.conf.get("spark.sql.catalog.mine") == "com.example.Catalog"
    # What nobody has set is ours to choose.
    assert own.conf.get("spark.sql.maxPlanStringLength") == SPEED["spark.sql.maxPlanStringLength"]
    assert dict(users.conf.getAll) == before


def test_what_results_depend_on_is_set_beside_the_session_and_told(users: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    users.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    users.conf.set("spark.sql.caseSensitive", "true")
    with caplog.at_level(logging.WARNING, "windrow.spark"):
        own = adopt_session(users)
    assert {key: own.conf.get(key) for key in MEANING} == MEANING
    assert users.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert users.conf.get("spark.sql.caseSensitive") == "true"
    [told] = [record.getMessage() for record in caplog.records if "WR606" in record.getMessage()]
    assert "spark.sql.session.timeZone = UTC (yours: Asia/Tokyo)" in told
    assert "spark.sql.caseSensitive = false (yours: true)" in told
    assert "ansi" not in told


def test_a_session_without_differences_is_taken_without_a_word(users: SparkSession, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "windrow.spark"):
        adopt_session(users, {"spark.sql.streaming.minBatchesToRetain": "5"})
    assert not [record for record in caplog.records if record.name == "windrow.spark"]


def test_settings_of_the_run_go_before_those_of_the_session(users: SparkSession) -> None:
    users.conf.set(SHUFFLES, "7")
    assert adopt_session(users, {SHUFFLES: "3"}).conf.get(SHUFFLES) == "3"


def test_a_session_of_another_zone_keeps_what_was_switched_off(spark: SparkSession) -> None:
    tokyo = in_zone(adopt_session(spark, has_fast_paths=False), "Asia/Tokyo")
    assert tokyo.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert not any(fast_paths_of(tokyo).allows(state.name) for state in fast_paths_of(tokyo).states())
