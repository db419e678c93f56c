"""Tables of options, by what takes them."""

from __future__ import annotations

from collections.abc import Iterable

from tools.reference.markdown import code, table
from windrow.catalog.options import QUERY_OPTIONS, SOURCE_OPTIONS
from windrow.check.rules.unsupported import GAPS
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.jobs.options import RUN_SETTINGS


def source_options() -> str:
    return option_table(SOURCE_OPTIONS)


def query_options() -> str:
    refused = {gap.what.split("'")[1] for gap in GAPS if gap.what.startswith("'") and "=" not in gap.what}
    return option_table(option for option in QUERY_OPTIONS if option.key not in refused)


def option_table(options: Iterable[OptionSpec]) -> str:
    return table(("key", "value", "default", "meaning"), (_option_row(option) for option in options))


def _option_row(option: OptionSpec) -> tuple[str, ...]:
    kind = ", ".join(code(choice) for choice in option.choices) if option.kind is OptionKind.CHOICE else option.kind.value
    example = f", such as {code(option.example)}" if option.example and option.kind is not OptionKind.CHOICE else ""
    default = "**required**" if option.is_required else code(repr(option.default)) if option.default is not None else ""
    return code(option.key), kind + example, default, option.doc


def connector_side(name: str, side: str) -> str:
    options: tuple[OptionSpec, ...] | None = getattr(CONNECTORS[name], side)
    return option_table(options or ())


def connector_overview() -> str:
    rows = ((code(spec.name), _side(spec.source), _side(spec.sink), spec.summary) for spec in CONNECTORS.values())
    return table(("connector", "reads", "writes", "what"), rows)


def _side(options: tuple[OptionSpec, ...] | None) -> str:
    return "" if options is None else "yes"


def run_settings() -> str:
    return table(
        ("key", "default", "meaning"),
        ((code(key), code(setting.default) if setting.default else "none", setting.meaning) for key, setting in RUN_SETTINGS.items()),
    )
