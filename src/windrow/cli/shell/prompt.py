"""The prompt: many lines until a semicolon, a history that lasts, completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected, is_searching
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from windrow.catalog import Catalog
from windrow.cli.shell.commands import COMMANDS
from windrow.introspection.words import completions
from windrow.sql import ends_statement


def make_prompt(catalog: Callable[[], Catalog], history: Path) -> PromptSession[str]:
    return PromptSession(
        "windrow> ",
        multiline=True,
        prompt_continuation=lambda width, _line, _soft: "-> ".rjust(width),
        history=_history(history),
        completer=_Words(catalog),
        complete_while_typing=False,
        key_bindings=_keys(),
        enable_history_search=True,
    )


def _history(file: Path) -> History:
    """A history that cannot be kept is no reason not to start."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=~is_searching & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        text = event.current_buffer.text
        if not text.strip() or text.lstrip().startswith("\\") or ends_statement(text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    return keys


class _Words(Completer):
    def __init__(self, catalog: Callable[[], Catalog]) -> None:
        self._catalog = catalog

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterable[Completion]:
        word, found = completions(document.text_before_cursor, self._catalog(), tuple(COMMANDS))
        for each in found:
            yield Completion(each.text, start_position=-len(word), display_meta=each.kind)
