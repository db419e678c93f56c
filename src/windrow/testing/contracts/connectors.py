"""What holds for both sides of a connector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.runtime import Connector
from windrow.connectors.spec import OptionSpec
from windrow.jobs.connector_loader import connector_of
from windrow.model.types import BIGINT, STRING, ColumnDef


class ConnectorContract(ABC):
    """``connector`` is the name that stands after ``'connector' =``."""

    connector: ClassVar[str]
    columns: ClassVar[tuple[ColumnDef, ...]] = (ColumnDef("k", STRING), ColumnDef("v", BIGINT))

    @abstractmethod
    def options(self, folder: Path) -> Mapping[str, str]:
        """Options that work, without ``connector``. ``folder`` is empty at the start of each test."""

    def loaded(self) -> Connector:
        return connector_of(self.connector)

    def specs(self) -> tuple[OptionSpec, ...]:
        spec = CONNECTORS[self.connector]
        return (*(spec.source or ()), *(spec.sink or ()))

    def test_the_spec_says_what_it_is_called(self) -> None:
        assert CONNECTORS[self.connector].name == self.connector

    def test_every_option_is_documented(self) -> None:
        assert [option.key for option in self.specs() if not option.doc or not option.example] == []

    def test_defaults_and_examples_are_among_the_choices(self) -> None:
        chosen = [(option, value) for option in self.specs() if option.choices for value in (option.default, option.example)]
        assert [(option.key, value) for option, value in chosen if value is not None and value not in option.choices] == []

    def test_its_places_can_be_named(self, tmp_path: Path) -> None:
        spec, options = CONNECTORS[self.connector], dict(self.options(tmp_path))
        assert spec.places_of(options) == spec.places_of(options)
        secret = [options[option.key] for option in self.specs() if option.is_secret and options.get(option.key)]
        assert [place for place in spec.places_of(options) for text in secret if text in f"{place.namespace}/{place.name}"] == []


def defaults(specs: tuple[OptionSpec, ...] | None) -> dict[str, str]:
    """What the options of one side are where nobody states them."""
    return {option.key: option.default for option in specs or () if option.default is not None}
