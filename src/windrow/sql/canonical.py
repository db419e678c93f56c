"""A whole file in the one canonical layout, with its comments, and with placeholders as they were written."""

from __future__ import annotations

import re

from windrow.errors import UsageError
from windrow.sql.comments import format_with_comments
from windrow.sql.script import parse

_REGION = re.compile(
    r"(?P<comment>--[^\r\n]*|/\*.*?(?:\*/|\Z))|(?P<quoted>'[^']*'|\"[^\"]*\"|`[^`]*`)|(?<!\$)(?P<bare>\$\{[^}\r\n]*\})", re.DOTALL
)
_PLACEHOLDER = re.compile(r"(?<!\$)\$\{([^}\r\n]*)\}")
_BARE_PLACEHOLDER = "WR617"
# Characters of the private use area: no file has them.
_OPEN, _CLOSE = "\ue000", "\ue001"


def canonical_layout(text: str, name: str) -> str:
    """The canonical text, with comments, and with placeholders as they were written."""
    script = parse(_keep_placeholders(text, name), name)
    return format_with_comments(script).replace(_OPEN, "${").replace(_CLOSE, "}")


def _keep_placeholders(text: str, name: str) -> str:
    """The text with every placeholder inside quotes as a mark that parses as itself, so that no value of the environment gets in."""

    def change(match: re.Match[str]) -> str:
        if match["bare"]:
            line = text.count("\n", 0, match.start()) + 1
            message = f"{name} has the placeholder {match['bare']} outside of quotes (line {line}), which the formatter cannot keep"
            raise UsageError(_BARE_PLACEHOLDER, message, "format the file by hand")
        return _PLACEHOLDER.sub(rf"{_OPEN}\1{_CLOSE}", match[0]) if match["quoted"] else match[0]

    return _REGION.sub(change, text)
