"""``windrow init``: what it writes passes its checks, and nothing is written over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.unit.cli.conftest import Windrow
from windrow.cli.ops import board_text, rules_text
from windrow.cli.project import chosen_for, compile_chosen
from windrow.connectors.generator.fields import validate_fields
from windrow.connectors.generator.settings import check_settings
from windrow.model.statement import CreateStream
from windrow.observe.promql_text import read_promql
from windrow.presets import BOARD, PRESETS, RULES, files_of
from windrow.testing import load_cases
from windrow.testing.runner import script_of


@pytest.mark.parametrize("preset", PRESETS)
def test_a_project_passes_its_checks_in_every_environment(windrow: Windrow, preset: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_URL", "postgresql://user@host/db")
    done = windrow("init", "here", "--preset", preset)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "windrow run . --env dev" in done.stdout
    for env in ("dev", "prod"):
        done = windrow("check", "here", "--env", env, "--strict")
        assert (done.exit_code, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("preset", PRESETS)
def test_every_query_has_cases_that_name_its_outputs(windrow: Windrow, preset: str) -> None:
    windrow("init", ".", "--preset", preset)
    cases = [case for path in sorted(Path("cases").iterdir()) for case in load_cases(path)]
    tested = {case.sql_file.name for case in cases if case.sql_file is not None}
    assert tested == {path.name for path in Path("queries").iterdir()}
    for case in cases:
        names = {str(getattr(statement, "name", "")) for statement in script_of(case).statements}
        assert isinstance(case.expected, dict)
        assert set(case.expected) - {"dead_letters"} <= names, case.name


def test_nothing_is_written_over(windrow: Windrow) -> None:
    Path("queries").mkdir()
    Path("queries/pages.sql").write_text("mine")
    done = windrow("init", "--preset", "web")
    assert done.exit_code == 2
    assert "[WR548] queries/pages.sql would be written over" in done.stderr
    assert [path.name for path in Path().iterdir()] == ["queries"]
    assert Path("queries/pages.sql").read_text() == "mine"


def test_without_a_terminal_the_preset_must_be_named(windrow: Windrow) -> None:
    done = windrow("init")
    assert done.exit_code == 2
    assert "[WR549] which preset?" in done.stderr
    assert "did you mean trading?" in windrow("init", "--preset", "tradin").stderr


def test_a_folder_that_cannot_be_written(windrow: Windrow) -> None:
    Path("file").write_text("")
    done = windrow("init", "file/inside", "--preset", "web")
    assert done.exit_code == 2
    assert "[WR562] cannot write" in done.stderr


def test_every_preset_tells_what_it_is() -> None:
    for preset in PRESETS:
        assert {"README.md", "windrow.yaml", "sources.sql"} <= set(files_of(preset))


@pytest.mark.parametrize("preset", PRESETS)
def test_the_made_up_rows_of_a_project_can_be_made(windrow: Windrow, preset: str) -> None:
    """What the generator would say of its options when it starts."""
    windrow("init", ".", "--preset", preset)
    made = 0
    for path in Path("queries").iterdir():
        script = compile_chosen(str(path), chosen_for(str(path), "dev")).script
        for stream in (one for one in script.statements if isinstance(one, CreateStream) and one.options.get("connector") == "generator"):
            options = {entry.key: entry.value for entry in stream.options}
            assert [*validate_fields(stream.columns, options), *check_settings(options)] == []
            made += 1
    assert made


@pytest.mark.parametrize("preset", PRESETS)
def test_a_project_has_a_board_and_alerts_of_what_it_runs(windrow: Windrow, preset: str) -> None:
    windrow("init", "here", "--preset", preset)
    assert Path("here", BOARD).read_text() == board_text("here")
    assert Path("here", RULES).read_text() == rules_text("here")
    board = json.loads(Path("here", BOARD).read_text())
    assert board["title"] == "Windrow: here"
    _, own = yaml.safe_load(Path("here", RULES).read_text())["groups"]
    told = {rule["alert"] for rule in own["rules"]}
    shown = " ".join(target["expr"] for panel in board["panels"] for target in panel.get("targets", ()))
    for path in Path("here", "queries").iterdir():
        plan = compile_chosen(str(path), chosen_for(str(path), "dev")).plan
        assert plan.alerts, f"{path.name} has no alert"
        assert {alert.name for alert in plan.alerts} <= told
        assert all(metric.name in shown for _, metric in plan.metrics)
    for rule in own["rules"]:
        read_promql(rule["expr"])


def test_a_board_that_is_there_is_not_written_over(windrow: Windrow) -> None:
    Path(BOARD).write_text("mine")
    done = windrow("init", "--preset", "web")
    assert "[WR548] dashboard.json would be written over" in done.stderr
    assert [path.name for path in Path().iterdir()] == [BOARD]
