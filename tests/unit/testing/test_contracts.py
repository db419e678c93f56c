"""The contracts find what they are there to find."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from windrow.connectors import registry
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, Place
from windrow.testing.contracts import ConnectorContract


def _with_secret(options: Mapping[str, str]) -> tuple[Place, ...]:
    return (Place("leaky", options["url"]),)


URL = OptionSpec("url", OptionKind.TEXT, "where it is", example="x://me:secret@db", is_secret=True)
LEAKY = ConnectorSpec("leaky", "tells secrets", "leaky:Leaky", sink=(URL,), places=_with_secret)


class _Leaky(ConnectorContract):
    connector = "leaky"

    def options(self, folder: Path) -> Mapping[str, str]:
        return {"url": f"x://me:secret@db/{folder.name}"}


def test_a_place_that_tells_a_secret_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry._OWN, "leaky", LEAKY)
    with pytest.raises(AssertionError):
        _Leaky().test_its_places_can_be_named(tmp_path)
