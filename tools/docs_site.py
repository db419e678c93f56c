"""The documentation site: pages that stand outside ``docs/`` join it, and links between the two keep working.

In the repository README.md stands beside ``docs/``; on the site ``docs/`` is the root. A link is resolved in the repository and written
anew for the site; a file that a page links to and that is no page (a query, a notebook) is published as it is.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def site_path(repository_path: PurePosixPath) -> PurePosixPath:
    """Where a file of the repository stands on the site.

    >>> str(site_path(PurePosixPath("docs/adr/README.md"))), str(site_path(PurePosixPath("examples/plugin/README.md")))
    ('adr/README.md', 'examples/plugin/README.md')
    """
    return repository_path.relative_to("docs") if repository_path.parts[0] == "docs" else repository_path


def target_of(link: str, page: PurePosixPath) -> PurePosixPath:
    """The file of the repository that a link on a page means; ``page`` is its path in the repository."""
    return PurePosixPath(os.path.normpath(page.parent / link))


def rewritten(markdown: str, page: PurePosixPath) -> str:
    """A page with its links as they must be on the site.

    >>> rewritten("[query](../examples/candles/query.sql)", PurePosixPath("docs/examples.md"))
    '[query](examples/candles/query.sql)'
    >>> rewritten("[errors](docs/errors.md#wr214)", PurePosixPath("README.md"))
    '[errors](errors.md#wr214)'
    """

    def one(match: re.Match[str]) -> str:
        target = site_path(target_of(match[1], page))
        return os.path.relpath(target, site_path(page).parent) + (match[2] or "")

    return _LINK.sub(one, markdown)


def repository_path(source: str) -> PurePosixPath:
    """The reverse of ``site_path``."""
    inside = PurePosixPath("docs") / source
    return inside if (ROOT / inside).is_file() else PurePosixPath(source)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    waiting = [*map(PurePosixPath, PAGES), *(PurePosixPath("docs") / file.src_uri for file in files.documentation_pages())]
    seen = set(waiting)
    while waiting:
        page = waiting.pop()
        text = (ROOT / page).read_text(encoding="utf-8")
        if page.parts[0] != "docs":
            files.append(File.generated(config, str(page), content=text))
        for match in _LINK.finditer(text):
            target = target_of(match[1], page)
            if target in seen or target.parts[0] == "docs" or not (ROOT / target).is_file():
                continue
            seen.add(target)
            if target.suffix == ".md":
                waiting.append(target)
            else:
                files.append(File.generated(config, str(target), abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, *, page: Page, **_: Any) -> str:
    return rewritten(markdown, repository_path(page.file.src_uri))
