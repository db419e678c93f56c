"""Good text to start from: every case, example and block of the docs, with the streams it reads written out."""

from __future__ import annotations

from functools import cache

from tests.unit.docs.markdown import PAGES, ROOT, blocks
from windrow.errors import SqlError
from windrow.model.statement import CreateStream, CreateTable, Script
from windrow.sql import format_script, parse
from windrow.testing import Case, load_cases
from windrow.testing.inference import created_names, infer_columns, memory_stream, memory_table, read_names

_FILES = ("tests/conformance/cases/*.jsonl", "examples/*/cases.jsonl", "examples/corpus/*/*.json")
CASES = [path for pattern in _FILES for path in sorted(ROOT.glob(pattern))]
PRELUDE = next(block.text for block in blocks(ROOT / "docs/sql.md") if "prelude" in block.marks)


@cache
def seeds() -> tuple[str, ...]:
    """Texts in a fixed order, each once."""
    found = [_whole(case) for path in CASES for case in load_cases(path)]
    found += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").rglob("*.sql"))]
    found += [_with_prelude(block.text) for page in PAGES for block in blocks(page) if block.language == "sql"]
    found += (ROOT / "tests/unit/sql/queries.sql").read_text(encoding="utf-8").split("\n\n")
    return tuple(dict.fromkeys(found))


def _with_prelude(text: str) -> str:
    try:
        own = created_names(parse(text))
        kept = tuple(s for s in parse(PRELUDE).statements if isinstance(s, CreateStream) and s.name.lower() not in own)
    except SqlError:
        return text
    return format_script(Script(kept, parse(PRELUDE).source)) + text


def _whole(case: Case) -> str:
    """The SQL of a case behind the streams and tables that its runner would infer."""
    try:
        script = parse(case.sql)
    except SqlError:
        return case.sql
    created, added = created_names(script), []
    for name in read_names(script):
        if name.lower() not in created:
            rows = case.rows if case.streams is None else case.streams.get(name, ())
            columns = infer_columns(row for row in rows or () if row.get("_stream", name) == name)
            is_table = name.lower() in {table.lower() for table in case.tables}
            added.append(memory_table(name, columns) if is_table else memory_stream(name, columns, case.delay, "batch", has_headers=True))
    sources: tuple[CreateStream | CreateTable, ...] = tuple(added)
    return format_script(Script(sources, script.source)) + case.sql
