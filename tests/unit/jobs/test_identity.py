"""What a state folder is recognised by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jobs.identity import CARD, Origin, claim, count_restore, read_card, restores_of
from windrow.storage import LocalFolder

SQL = """-- @owner: shop
CREATE STREAM t (k STRING) WITH ('connector' = 'generator');
CREATE STREAM o AS SELECT k PRIMARY KEY FROM t WITH (
  'connector' = 'postgres', 'table' = '{table}', 'password' = '{password}', 'url' = '{url}', 'user' = '${{WHO}}');
"""


def claimed(folder: LocalFolder, password: str = "a", table: str = "o", url: str = "postgresql://db/shop") -> str:
    compiled = compile_sql(SQL.format(password=password, table=table, url=url), "t.sql", {"WHO": "me", "PW": "hush"})
    return claim(folder, compiled.plan.jobs[0], Origin.of(compiled.script, compiled.plan))


def test_a_new_password_leaves_the_state_what_it_was(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    assert claimed(folder) == claimed(folder, password="b", url="postgresql://other/shop")


def test_another_table_makes_it_another_job(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    claimed(folder)
    before = folder.read(CARD)
    with pytest.raises(UsageError, match=r"WR804.*job t: output of o: options\.table is p, and was o\n"):
        claimed(folder, table="p")
    assert folder.read(CARD) == before


def test_the_card_holds_the_text_and_the_plan_without_secrets(tmp_path: Path) -> None:
    claimed(LocalFolder(tmp_path), password="hunter2", url="postgresql://me:hunter3@db/shop")
    text = (tmp_path / CARD).read_text()
    card = json.loads(text)
    assert "hunter" not in text
    assert "'password' = '***', 'url' = '***', 'user' = '${WHO}'" in card["sql"]
    assert card["annotations"] == [{"key": "owner", "value": "shop"}]
    assert [(stage["name"], stage["kind"]) for stage in card["plan"]["stages"]] == [
        ("t", "read"),
        ("o", "filter_project"),
        ("o -> postgres", "write"),
    ]
    assert {"format", "windrow", "job", "fingerprint", "id"} <= card.keys()


def test_a_placeholder_stays_in_the_text_and_its_value_is_nowhere(tmp_path: Path) -> None:
    claimed(LocalFolder(tmp_path), password="${PW}")
    text = (tmp_path / CARD).read_text()
    assert "'password' = '${PW}'" in text
    assert "hush" not in text


def test_a_restart_notes_the_text_of_today_and_keeps_the_rest(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    claimed(folder)
    count_restore(folder)
    identity = claimed(folder, url="${WHO}")
    card = read_card(folder)
    assert "'url' = '${WHO}'" in card["sql"]
    assert (card["id"], restores_of(folder)) == (identity, 1)


@pytest.mark.parametrize("card", [b'{"format": 2, "id": "x", "fingerprint": "y"}', b'{"format": 4, "windrow": "9.0"}', b"[]", b'{"form'])
def test_a_card_of_another_format_is_refused(tmp_path: Path, card: bytes) -> None:
    folder = LocalFolder(tmp_path)
    folder.replace_atomically(CARD, card)
    with pytest.raises(UsageError, match=r"WR803.*in a format that this one does not read"):
        claimed(folder)
    assert folder.read(CARD) == card
