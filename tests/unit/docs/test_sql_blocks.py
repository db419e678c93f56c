"""Every SQL block of the documentation passes the checks, or fails them where it is marked ``error``.

A page's examples may read the streams of the block marked ``prelude`` in docs/sql.md. A block marked ``fragment`` shows grammar.
"""

from __future__ import annotations

import pytest

from tests.unit.docs.markdown import PAGES, ROOT, Block, blocks
from windrow.catalog import build_catalog
from windrow.compiler import compile_script
from windrow.errors import SqlError
from windrow.model.statement import CreateStream
from windrow.sql import parse
from windrow.testing.inference import created_names

MOST_FRAGMENTS = 4
SQL = [block for page in PAGES for block in blocks(page) if block.language == "sql"]
PRELUDE = next(block for block in blocks(ROOT / "docs" / "sql.md") if "prelude" in block.marks)


def compile_block(block: Block) -> None:
    script, prelude = parse(block.text, block.place, {}), parse(PRELUDE.text, PRELUDE.place, {})
    own = created_names(script)
    added = tuple(s for s in prelude.statements if isinstance(s, CreateStream) and s.name.lower() not in own)
    catalog = build_catalog(prelude)
    extra = {s.name.lower(): relation for s in added if (relation := catalog.relation(s.name)) is not None}
    compile_script(script, extra, added)


def marked(mark: str) -> list[Block]:
    return [block for block in SQL if mark in block.marks]


@pytest.mark.parametrize("block", [block for block in SQL if not {"error", "fragment"} & set(block.marks)], ids=lambda block: block.place)
def test_block_compiles(block: Block) -> None:
    compile_block(block)


@pytest.mark.parametrize("block", marked("error"), ids=lambda block: block.place)
def test_block_is_refused_as_shown(block: Block) -> None:
    """The text block after it shows what the user sees."""
    following = [b for b in blocks(block.page) if b.line > block.line]
    with pytest.raises(SqlError) as caught:
        compile_block(block)
    assert str(caught.value) == following[0].text.rstrip("\n")


def test_fragments_are_few() -> None:
    assert len(marked("fragment")) <= MOST_FRAGMENTS


def test_marks_are_known() -> None:
    assert {mark for block in SQL for mark in block.marks} <= {"error", "fragment", "prelude"}
