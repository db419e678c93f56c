"""The registry in PostgreSQL: what the server does with a file it does with a database too, and what only a database can do to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

# The same tests, over the server of this file.
from tests.unit.server.conftest import Programs, Server, alerting, make_server  # noqa: F401
from tests.unit.server.test_alerts import (  # noqa: F401
    job,
    test_a_rule_is_pending_then_fires_then_is_over,
    test_taking_an_alert_on_and_silencing_a_job,
    test_what_is_removed_has_no_alerts_any_more,
)
from tests.unit.server.test_api import (  # noqa: F401
    test_a_job_from_text_to_removal,
    test_a_token_that_is_removed_opens_nothing,
    test_events_go_on_where_they_stopped,
)
from tests.unit.server.test_changing import (  # noqa: F401
    impatient,
    test_a_flag_is_a_variable_with_a_history,
    test_a_plan_is_refused_once_something_else_is_deployed,
    test_a_protected_environment_wants_a_plan_that_another_approves,
    test_a_version_that_fails_is_taken_back,
    test_the_same_key_is_the_same_wish,
)
from tests.unit.server.test_reconciler import (  # noqa: F401
    observed,
    runs,
    test_a_job_that_goes_on_failing_uses_its_budget_up,
    test_a_job_that_is_killed_is_started_again,
    test_a_new_version_takes_the_place_of_the_one_that_runs,
    until,
)
from tests.unit.server.test_secrets import (  # noqa: F401
    test_flags_of_a_protected_environment_are_approved_by_another,
    test_whoever_has_the_same_name_is_not_the_same,
)
from windrow.errors import UsageError
from windrow.local.postgres import PostgresServer
from windrow.server.database import SCHEMA_VERSION
from windrow.server.registry import Registry

pytestmark = pytest.mark.integration
_numbers = count()


@pytest.fixture
def place(postgres: PostgresServer) -> str:
    """The URL of an empty database, with a password that nobody may see."""
    name = f"registry_{next(_numbers)}"
    postgres.execute(f"CREATE DATABASE {name}")
    return f"{postgres.dsn.rpartition('/')[0]}/{name}"


@pytest.fixture
def server(tmp_path: Path, place: str) -> Iterator[Server]:
    made = make_server(tmp_path, Programs(tmp_path), place=place)
    yield made
    made.changing.close()
    made.programs.end_all()
    made.registry.close()


def asked(place: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(place, autocommit=True) as connection:
        done = connection.execute(sql.encode())
        return done.fetchall() if done.description else []


def test_what_was_written_is_there_after_it_is_opened_again(place: str) -> None:
    first = Registry(place)
    first.add_token("t1", "ci", "digest", ["read"], None)
    first.add_event("job.started", "orders", "100 % of it, 'quoted' and \\ all? {}")
    first.close()
    again = Registry(place)
    assert [one.message for one in again.events(0, None, 10)] == ["100 % of it, 'quoted' and \\ all? {}"]
    assert asked(place, "SELECT MAX(version) FROM registry_format") == [(SCHEMA_VERSION,)]
    again.close()


def test_a_database_has_one_server(place: str) -> None:
    held = Registry(place)
    with pytest.raises(UsageError, match=r"WR931.*another server keeps its registry in postgresql://127") as caught:
        Registry(place)
    assert "windrow:" not in str(caught.value)
    held.close()
    Registry(place).close()


def test_a_database_of_a_later_version_is_not_touched(place: str) -> None:
    Registry(place).close()
    asked(place, f"INSERT INTO registry_format VALUES ({SCHEMA_VERSION + 1})")
    with pytest.raises(UsageError, match="WR921"):
        Registry(place)


def test_a_database_that_cannot_be_opened_is_named_without_its_password(place: str) -> None:
    wrong = place.replace("@", "-not@", 1)
    with pytest.raises(UsageError, match="WR920") as caught:
        Registry(wrong)
    assert "-not" not in str(caught.value)


def test_jobs_go_on_while_the_database_is_away_and_the_server_comes_back_to_it(server: Server, place: str) -> None:
    server.deploy()
    until(server, runs(server))
    started = server.programs.started[:]
    asked(
        place.rpartition("/")[0] + "/postgres",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'windrow serve'",
    )
    server.reconciler.look()
    server.reconciler.look()
    assert observed(server) in ("running", "starting")
    assert server.programs.started == started
    server.service.stop("orders", "ada")
    until(server, lambda: observed(server) == "stopped")


def test_tables_that_somebody_removed_are_made_again_from_the_folders(server: Server, place: str) -> None:
    server.deploy()
    until(server, runs(server))
    started = server.programs.started[:]
    names = [
        row[0] for row in asked(place, "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'registry_format'")
    ]
    asked(place, f"DROP TABLE {', '.join(map(str, names))} CASCADE")
    server.reconciler.look()
    until(server, runs(server))
    assert server.programs.started == started, "the job that runs was found, and not started twice"
    assert [one.name for one in server.registry.deployments()] == ["orders"]
    assert "registry.lost" in [one.type for one in server.registry.events(0, None, 50)]
