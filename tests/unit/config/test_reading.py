"""What windrow.yaml may hold, and what is said where it holds something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.config.conftest import InEnvironment, MakeProject
from windrow.config import find_project
from windrow.config.keys import FILE_LISTS, SCALARS, SECTIONS
from windrow.errors import SqlError, UsageError


def faults(in_environment: InEnvironment, text: str) -> list[str]:
    with pytest.raises(SqlError) as caught:
        in_environment(text)
    return [f"{fault.code} {caught.value.source.position(fault.span.start if fault.span else 0)}" for fault in caught.value.diagnostics]


def test_every_fault_has_its_place(in_environment: InEnvironment) -> None:
    text = "include: /etc/x.sql\nlatenes: 5s\nenvironments:\n  dev:\n    lateness: soon\n    state: {home: nowhere}\n    state.x: 1\n"
    assert faults(in_environment, text) == ["WR542 (1, 10)", "WR541 (2, 1)", "WR542 (5, 15)", "WR542 (6, 19)", "WR541 (7, 5)"]


def test_an_unknown_key_names_the_nearest(in_environment: InEnvironment) -> None:
    with pytest.raises(SqlError) as caught:
        in_environment("environments:\n  dev:\n    watermark: {dealy: 5s}\n")
    assert str(caught.value).splitlines()[:5] == [
        '[WR541] unknown key "dealy" under watermark',
        "  3 |     watermark: {dealy: 5s}",
        "    |                 ^^^^^",
        '  hint: did you mean "delay"? there are: delay, idle_timeout, late_rows, granularity',
    ]


@pytest.mark.parametrize("text", ["a: [1", "\ta: 1", "- a\n- b", "a: 1\na: 2", "a: &x {b: *x}", "x: {<<: {master: y}}"])
def test_what_is_no_yaml_or_no_keys_has_a_place(in_environment: InEnvironment, text: str) -> None:
    assert faults(in_environment, text)[0].startswith("WR540")


def test_an_empty_file_holds_nothing(in_environment: InEnvironment) -> None:
    assert in_environment("# nothing yet\n").values == {}
    assert in_environment("environments:\n  dev:\nstate:\n", "dev").values == {}


def test_words_that_yaml_takes_for_truth_stay_what_was_written(in_environment: InEnvironment) -> None:
    found = in_environment("settings: {engine.fast_paths: off}\nvariables: {A: 010, B: yes, C: '1e3'}")
    assert found.settings == {"engine.fast_paths": "off"}
    assert found.variables({}) == {"A": "010", "B": "yes", "C": "1e3"}


def test_keys_in_keys_are_keys_with_dots(in_environment: InEnvironment) -> None:
    one = in_environment("state: {snapshot: {every: 5}}\nstreams: {trades: {watermark: {delay: 5s}}}")
    other = in_environment("state: {snapshot.every: 5}\nstreams: {trades: {watermark.delay: 5s}}")
    assert [value.text for value in one.values.values()] == [value.text for value in other.values.values()]
    assert set(one.values) == set(other.values)


def test_parents_that_are_missing_or_go_in_a_circle(in_environment: InEnvironment) -> None:
    assert faults(in_environment, "environments: {dev: {extends: bsae}, base: {}}") == ["WR544 (1, 31)"]
    assert faults(in_environment, "environments:\n  a: {extends: b}\n  b: {extends: a}\n") == ["WR544 (2, 16)", "WR544 (3, 16)"]


def test_a_missing_environment_names_the_nearest(in_environment: InEnvironment) -> None:
    with pytest.raises(UsageError, match="did you mean prod"):
        in_environment("environments: {dev: {}, prod: {}}", "prdo")
    assert faults(in_environment, "default_environment: x\nenvironments: {dev: {}}") == ["WR543 (1, 22)"]


def test_the_nearest_file_above_counts_up_to_the_root_of_the_repository(project: MakeProject, tmp_path: Path) -> None:
    project("master: local[1]")
    (tmp_path / "inner" / "deep").mkdir(parents=True)
    (tmp_path / "inner" / "deep" / "x.sql").write_text("SELECT 1")
    found = find_project("inner/deep/x.sql")
    assert found is not None
    assert found.folder == tmp_path.resolve()
    (tmp_path / "inner" / ".git").mkdir()
    assert find_project("inner/deep/x.sql") is None


def test_every_key_takes_its_example(in_environment: InEnvironment) -> None:
    """What the documentation and the schema show is what is read."""
    lines = [f"{spec.key}: {spec.example}" for spec in SCALARS] + [f"{section.key}: {section.example}" for section in SECTIONS]
    lines += [f"{key}: [a.sql]" for key in FILE_LISTS]
    found = in_environment("\n".join(lines))
    assert {path[0] for path in found.values} == {spec.key for spec in SCALARS} | {section.key for section in SECTIONS}
    for section in SECTIONS:
        for spec in section.specs("kafka") or ():
            name = "{kafka: " if section.of else ""
            key = spec.example_key or spec.key
            quoted = "'" + spec.example.replace("'", "''") + "'"
            one = in_environment(f"{section.key}: {name}{{'{key}': {quoted}}}{'}' if name else ''}")
            assert [value.text for value in one.values.values()] == [spec.example], (section.key, key)
