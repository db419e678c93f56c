"""The tables of docs/configuration.md."""

from __future__ import annotations

from collections.abc import Iterator

from tools.reference.markdown import code, table
from windrow.config import foreign
from windrow.config.keys import DEFAULT_ENVIRONMENT, ENVIRONMENTS, EXTENDS, FILE_LISTS, SCALARS, SECTIONS, section

_TEN = "10"


def configuration_keys() -> str:
    """Every key at the top and of an environment."""
    top = "top"
    rows: list[tuple[str, ...]] = [
        (code(key), top, doc, ", ".join(code(pattern) for pattern in given) or "none") for key, (doc, given) in FILE_LISTS.items()
    ]
    rows.append((code(DEFAULT_ENVIRONMENT.key), top, DEFAULT_ENVIRONMENT.doc, "none"))
    rows.append((code(ENVIRONMENTS), top, "the environments by name", "none"))
    rows.append((code(EXTENDS.key), "environment", EXTENDS.doc, "none"))
    rows += [(code(spec.key), "both", spec.doc, code(spec.default) if spec.default else "none") for spec in SCALARS]
    rows += [(code(one.key), "both", f"{one.doc}, such as {code(one.example)}", "none") for one in SECTIONS]
    return table(("key", "stands", "holds", "default"), rows)


def section_keys(name: str) -> str:
    own = section(name)
    assert own is not None
    return table(("key", "is", "example"), ((code(spec.key), spec.doc, code(spec.example)) for spec in own.specs("") or ()))


def foreign_keys() -> str:
    return table(("theirs", "here"), _foreign())


def _foreign() -> Iterator[tuple[str, str]]:
    for head in foreign.SECTIONS:
        for key in foreign.known_keys(head):
            path = (head, "NAME", key) if head == "windowing" else (head, key)
            yield code(".".join(path)), _answer(path)
    for tier in foreign.TIERS:
        for key in ("max_size_mb", "ttl_seconds", "path"):
            yield code(f"state.{tier}.{key}"), _answer(("state", f"{tier}.{key}"))


def _answer(path: tuple[str, ...]) -> str:
    match foreign.answer_for(path, _TEN):
        case foreign.Mapped(path=foreign.CHECKPOINT_SECONDS):
            every = code(".".join(foreign.SNAPSHOT_EVERY))
            return f"{every}: so many batches, each as long as `trigger_interval` (a second where it says nothing)"
        case foreign.Mapped(path=target, text=text):
            return code(".".join(target)) + (f" as {code(text)} where they say {code(_TEN)}" if text and text != _TEN else "")
        case foreign.Refused(reason=reason):
            return f"refused: {reason}"
        case None:
            raise AssertionError(f"{path} is listed and not known")
