"""The class behind a connector's name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Connector
from windrow.errors import UsageError


@cache
def connector_of(name: str) -> Connector:
    """Loaded when it is first needed: a connector's libraries take their time."""
    target = CONNECTORS[name].runtime
    module, _, class_name = target.partition(":")
    try:
        found = getattr(import_module(module), class_name)
    except (ImportError, AttributeError) as error:
        hint = "its spec says runtime='module:Class'; try it by itself: python -c 'import " + module + "'"
        raise UsageError("WR650", f'the connector "{name}" cannot be loaded from {target}: {error}', hint) from error
    if not (isinstance(found, type) and issubclass(found, Connector)):
        raise UsageError("WR650", f'{target}, the connector "{name}", is no windrow.connectors.runtime.Connector', "let it be a subclass")
    return found()
