"""Writes the parts of the documentation that repeat what the code says: errors, gaps, functions, options, statements, system columns.

    .venv/bin/python tools/generate_reference.py

Some pages are written whole. In others, what stands between ``<!-- generated: NAME -->`` and ``<!-- end -->`` is replaced. A test
compares the pages with what this would write.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    from tools.reference.pages import generate  # found once the path is set, below

    for path, text in generate().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: written")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
