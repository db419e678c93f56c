"""Verdicts as a JUnit report, the format that every CI system shows."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from windrow.errors import UsageError
from windrow.testing.runner import Verdict

# Characters that XML 1.0 cannot hold at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(verdicts: Iterable[Verdict], path: Path) -> None:
    """One suite a case file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(junit_xml(verdicts), encoding="utf-8")
    except OSError as error:
        raise UsageError("WR905", f"cannot write the report {path}: {error.strerror}", "choose another path: --junit out.xml") from error


def junit_xml(verdicts: Iterable[Verdict]) -> str:
    by_file: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_file.setdefault(verdict.case.file, []).append(verdict)
    root = ElementTree.Element("testsuites", _totals([v for own in by_file.values() for v in own]))
    for file, own in by_file.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(file), **_totals(own)})
        for verdict in own:
            _add_case(suite, file, verdict)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _totals(verdicts: list[Verdict]) -> dict[str, str]:
    skipped = sum(verdict.skipped is not None for verdict in verdicts)
    failed = sum(not verdict.passed for verdict in verdicts) - skipped
    counts = {"tests": str(len(verdicts)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    return {**counts, "time": f"{sum(v.seconds for v in verdicts):.3f}"}


def _add_case(suite: ElementTree.Element, file: str, verdict: Verdict) -> None:
    name = {"name": _clean(verdict.case.name), "classname": _clean(Path(file).stem), "time": f"{verdict.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", name)
    if verdict.skipped is not None:
        ElementTree.SubElement(case, "skipped", {"message": _clean(verdict.skipped)})
    elif not verdict.passed:
        message = _clean(verdict.message)
        failure = ElementTree.SubElement(case, "failure", {"type": verdict.code or "difference", "message": message.partition("\n")[0]})
        failure.text = message


def _clean(text: str) -> str:
    """
    >>> _clean("a\\x00b")
    'a?b'
    """
    return _FORBIDDEN.sub("?", text)
