"""``windrow docs``: a page about several files. Starts no Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env
from windrow.cli.group import Files, group_of
from windrow.cli.project import expanded


class PageFormat(StrEnum):
    markdown = "markdown"
    html = "html"


FormatOption = Annotated[PageFormat, typer.Option("--format", help="Markdown with Mermaid pictures, or one file of HTML.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.", metavar="FILE", show_default=False)]
Title = Annotated[str | None, typer.Option("--title", help="The title; the app, or the files, if not given.", show_default=False)]


def write_docs(files: Files, env: Env = None, form: FormatOption = PageFormat.markdown, output: Output = None, title: Title = None) -> None:
    """Write a page about files: sources, stages, sinks, lineage, schedules, owners, and a runbook."""
    from windrow.errors import UsageError
    from windrow.groups.blocks import to_html, to_markdown
    from windrow.groups.pages import page_of

    group = group_of(expanded(files, env), env)
    app = next((found for member in group.members if (found := member.about("app")) is not None), None)
    blocks = page_of(group, title or app or ", ".join(member.file for member in group.members))
    text = to_html(blocks) if form is PageFormat.html else to_markdown(blocks)
    if output is None:
        print(text, end="")
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            codes.UNWRITABLE, f"cannot write {output}: {error.strerror or error}", "name a file in a folder that is there"
        ) from None
    print(f"wrote {output}")
