"""The parts of a page, and a page as Markdown or as one file of HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;margin:.5rem 0 1rem;display:block;overflow-x:auto}td,th{border:1px solid #ccc;padding:.25rem .6rem;"
    "text-align:left;vertical-align:top}th{background:#f4f4f4}h2{border-bottom:1px solid #ccc}h4{margin-bottom:.2rem}"
    "svg{max-width:100%;height:auto}"
)


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Table:
    """A head of empty names is none."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """The same picture, for HTML and for Markdown."""

    svg: str
    mermaid: str


Block = Heading | Text | Table | Picture


def to_markdown(blocks: Iterable[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level=level, text=text):
            return f"{'#' * level} {_escaped(text)}"
        case Text(text=text):
            return text
        case Table(head=head, rows=rows):
            lines = [head, ("---",) * len(head), *rows]
            return "\n".join("| " + " | ".join(cell if line is lines[1] else _escaped(cell) for cell in line) + " |" for line in lines)
        case Picture(mermaid=mermaid):
            return f"```mermaid\n{mermaid}\n```"
        case _:
            assert_never(block)


def _escaped(text: str) -> str:
    """Text that Markdown takes as it is, in a cell of a table too.

    >>> _escaped("a | b * c_d"), _escaped("x < y")
    ('a \\\\| b \\\\* c_d', 'x &lt; y')
    """
    for char in ("\\", "|", "*", "`", "["):
        text = text.replace(char, f"\\{char}")
    return text.replace("<", "&lt;").replace("\n", " ")


def to_html(blocks: Iterable[Block]) -> str:
    listed = list(blocks)
    title = next((block.text for block in listed if isinstance(block, Heading)), "")
    head = f'<meta charset="utf-8"><title>{html.escape(title)}</title><style>{_STYLE}</style>'
    body = "\n".join(_html(block) for block in listed)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'


def _html(block: Block) -> str:
    match block:
        case Heading(level=level, text=text):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(text=text):
            return f"<p>{html.escape(text)}</p>"
        case Table(head=head, rows=rows):
            names = f"<tr>{''.join(f'<th>{html.escape(name)}</th>' for name in head)}</tr>" if any(head) else ""
            lines = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
            return f"<table>{names}{lines}</table>"
        case Picture(svg=svg):
            return svg
        case _:
            assert_never(block)
