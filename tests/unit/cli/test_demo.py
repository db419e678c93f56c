"""What the options of the demo ask for, without Spark, broker or database."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow
from windrow.cli import demo
from windrow.cli.demo_outside import TRADES, Outside, Table, Topics, made_up_trades
from windrow.compiler import compile_sql
from windrow.local import postgres

SQL = files("windrow.cli").joinpath("demo.sql").read_text(encoding="utf-8")
URL = "postgresql://me:hush@db/shop"


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ((), (False, False, None)),
        (("--kafka",), (True, False, None)),
        (("--postgres", "--kafka"), (True, True, None)),
        (("--postgres-url", URL), (False, False, URL)),
    ],
)
def test_the_options_choose_the_systems(windrow: Windrow, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], asked: object) -> None:
    seen: list[object] = []
    monkeypatch.setattr(demo, "run_demo", lambda *, kafka, postgres, postgres_url: seen.append((kafka, postgres, postgres_url)))
    assert windrow("demo", *words).exit_code == 0
    assert seen == [asked]


def test_each_system_takes_its_place_in_the_file() -> None:
    topics, table = Topics("b:1"), Table(URL)
    chosen: list[tuple[list[Outside], list[str], list[str]]] = [
        ([topics], ["kafka"], ["kafka"]),
        ([table], ["generator"], ["console", "postgres"]),
        ([topics, table], ["kafka"], ["kafka", "postgres"]),
    ]
    for systems, sources, sinks in chosen:
        sql, environment = SQL, dict[str, str]()
        for system in systems:
            sql = system.rewrite(sql)
            environment.update(system.environment)
        assert "hush" not in sql
        (job,) = compile_sql(sql, "demo.sql", environment).plan.jobs
        assert [read.connector for read in job.reads] == sources
        assert [write.connector for write in job.writes] == sinks


def test_trades_are_the_same_every_time() -> None:
    trades = list(made_up_trades())
    assert trades == list(made_up_trades())
    assert len(trades) == TRADES
    broken = sum(not isinstance(json.loads(trade), dict) for trade in trades)
    assert 5 < broken < 50


def test_without_postgresql_the_way_to_it_is_told(windrow: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path | None:
        return None

    monkeypatch.setattr(postgres, "find_programs", nowhere)
    done = windrow("demo", "--postgres")
    assert done.exit_code == 2
    assert "[WR897] no PostgreSQL is installed here" in done.stderr
    assert "apt-get install postgresql" in done.stderr


def test_an_address_that_is_none_is_refused_unseen(windrow: Windrow) -> None:
    done = windrow("demo", "--postgres-url", "mysql://me:hush@db")
    assert (done.exit_code, "WR870" in done.stderr, "hush" in done.stderr) == (2, True, False)
