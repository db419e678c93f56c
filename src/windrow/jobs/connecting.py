"""The module behind a connector's name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from windrow.connectors.registry import CONNECTORS


def runtime_of(connector: str) -> Any:
    """What it must offer is in ``windrow.connectors.runtime``; some doors are optional."""
    return import_module(CONNECTORS[connector].runtime)
