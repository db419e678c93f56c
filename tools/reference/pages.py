"""Every page with generated parts."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tools.reference.configuration import configuration_keys, foreign_keys, section_keys
from tools.reference.errors import errors_page
from tools.reference.functions import functions_page
from tools.reference.markdown import DOCS, ROOT, code, table
from tools.reference.metrics import event_types, metrics_page
from tools.reference.options import (
    connector_overview,
    connector_side,
    option_table,
    outage_options,
    query_options,
    run_settings,
    source_options,
)
from tools.reference.results import result_table
from tools.reference.server import api_paths, system_table_columns
from tools.reference.statements import reference_page
from tools.reference.support import support_page
from windrow.catalog.options import TABLE_OPTIONS
from windrow.codes import ROW_CODES
from windrow.config import SCHEMA_FILE, json_schema
from windrow.model.system import SYSTEM_COLUMNS, Origin

_REGION = re.compile(r"(<!-- generated: (?P<name>[^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)


def system_columns() -> str:
    of = {Origin.ROW: "every row", Origin.WINDOW: "emissions of a window", Origin.EMISSION: "emissions of a window or group"}
    rows = ((code(c.name), code(str(c.type)), of[c.origin], c.meaning, code(c.example)) for c in SYSTEM_COLUMNS)
    return table(("column", "type", "on", "meaning", "example"), rows)


def row_codes() -> str:
    return table(("code", "because"), ((code(name), meaning) for name, meaning in ROW_CODES.items()))


# The corpus of examples

_TOPICS = {
    "trading": "Trading",
    "iot": "Devices and meters",
    "web": "Web analytics",
    "llm": "Operating language models",
    "otel": "OpenTelemetry",
    "nexmark": "Nexmark",
}


def corpus_index() -> str:
    """The queries of examples/corpus by topic, each with what its first comment says."""
    parts = []
    for topic, title in _TOPICS.items():
        queries = sorted(path for path in (ROOT / "examples/corpus" / topic).glob("*.sql") if not path.name.endswith(".batch.sql"))
        if not queries:
            continue
        rows = ((f"[{path.stem}](../examples/corpus/{topic}/{path.name})", _head_comment(path)) for path in queries)
        parts.append(f"### {title}\n{table(('query', 'what it is for'), rows)}")
    return "\n\n".join(parts)


def _head_comment(path: Path) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    head = itertools.takewhile(lambda line: line.startswith("-- ") and not line.startswith("-- @"), lines)
    return " ".join(line.removeprefix("-- ") for line in head)


REGIONS: dict[str, Callable[[], str]] = {
    "server api": api_paths,
    "system tables": system_table_columns,
    "source options": source_options,
    "query options": query_options,
    "outage options": outage_options,
    "connectors": connector_overview,
    "files source": lambda: connector_side("files", "source"),
    "files sink": lambda: connector_side("files", "sink"),
    "kafka source": lambda: connector_side("kafka", "source"),
    "generator source": lambda: connector_side("generator", "source"),
    "kafka sink": lambda: connector_side("kafka", "sink"),
    "otap source": lambda: connector_side("otap", "source"),
    "otlp sink": lambda: connector_side("otlp", "sink"),
    "console sink": lambda: connector_side("console", "sink"),
    "table options": lambda: option_table(TABLE_OPTIONS),
    "postgres source": lambda: connector_side("postgres", "source"),
    "postgres sink": lambda: connector_side("postgres", "sink"),
    "delta source": lambda: connector_side("delta", "source"),
    "delta sink": lambda: connector_side("delta", "sink"),
    "iceberg source": lambda: connector_side("iceberg", "source"),
    "iceberg sink": lambda: connector_side("iceberg", "sink"),
    "jdbc source": lambda: connector_side("jdbc", "source"),
    "jdbc sink": lambda: connector_side("jdbc", "sink"),
    "memory source": lambda: connector_side("memory", "source"),
    "system columns": system_columns,
    "run settings": run_settings,
    "configuration keys": configuration_keys,
    "configuration windows": lambda: section_keys("windows"),
    "configuration of other systems": foreign_keys,
    "row codes": row_codes,
    "corpus": corpus_index,
    "event types": event_types,
    **{
        f"benchmark {name}": partial(result_table, name)
        for name in ("windows", "others", "joins", "kafka", "soak", "receiver", "receiver_memory")
    },
}
PAGES: dict[str, Callable[[], str]] = {
    "errors.md": errors_page,
    "support.md": support_page,
    "metrics.md": metrics_page,
    "functions.md": functions_page,
    "reference.md": reference_page,
}


def fill_regions(text: str) -> str:
    """The text with every generated region written anew."""
    return _REGION.sub(lambda match: f"{match[1]}{REGIONS[match['name']]()}\n{match[3]}", text)


def generate() -> dict[Path, str]:
    """Every page with generated parts, as it should be, and the schema of windrow.yaml that is shipped."""
    pages = {DOCS / name: make() for name, make in PAGES.items()}
    pages[SCHEMA_FILE] = json.dumps(json_schema(), indent=1) + "\n"
    for path in sorted(DOCS.glob("*.md")):
        if path not in pages:
            before = path.read_text(encoding="utf-8")
            if _REGION.search(before):
                pages[path] = fill_regions(before)
    return pages
