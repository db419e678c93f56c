"""Tables of options, by what takes them."""

from __future__ import annotations

from collections.abc import Iterable

from tools.reference.markdown import code, table
from windrow.catalog.options import QUERY_OPTIONS, ROW_LIMITS, SOURCE_OPTIONS, options_for_sink, options_for_source, options_for_table
from windrow.check.rules.unsupported import GAPS
from windrow.connectors.outage_options import FAILOVER_TO, OUTAGE_OPTIONS, POLICY, READ_BY
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec
from windrow.jobs.options import RUN_SETTINGS


def source_options() -> str:
    return option_table(SOURCE_OPTIONS)


def query_options() -> str:
    refused = {gap.what.split("'")[1] for gap in GAPS if gap.what.startswith("'") and "=" not in gap.what}
    return option_table(option for option in (*QUERY_OPTIONS, *ROW_LIMITS) if option.key not in refused)


def outage_options() -> str:
    return option_table(OUTAGE_OPTIONS)


def option_table(options: Iterable[OptionSpec]) -> str:
    return table(("key", "value", "default", "example", "meaning"), (_option_row(option) for option in options))


def _option_row(option: OptionSpec) -> tuple[str, ...]:
    kind = ", ".join(code(choice) for choice in option.choices) if option.kind is OptionKind.CHOICE else option.kind.value
    default = "**required**" if option.is_required else code(repr(option.default)) if option.default is not None else ""
    return code(option.key), kind, default, code(option.shown), option.doc


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
        ("key", "default", "example", "meaning"),
        (
            (code(key), code(setting.default) if setting.default else "none", code(f"--set {key}={setting.example}"), setting.meaning)
            for key, setting in RUN_SETTINGS.items()
        ),
    )


# Statements that use one option each, for the test that checks the examples

_COLUMNS = "(ts TIMESTAMP, v INT, updated_at TIMESTAMP"
_QUERY = "SELECT v AS symbol, ts AS minute, v AS body FROM input"


def statement_with(connector: str, side: str, option: OptionSpec) -> str:
    """A statement of one connector, as a stream or table that is read or a query that writes, with an option as its example has it."""
    spec = CONNECTORS[connector]
    required = [each.shown for each in getattr(spec, "sink" if side == "sink" else "source") or () if each.is_required]
    named = [shown for shown in required if not shown.startswith((f"'{option.key}'", f"'{_replaced_by(spec, option)}'"))]
    # A column to refresh by means nothing without an interval.
    also = ["'refresh.interval' = '5m'"] if side == "table" and option.key != "refresh.interval" else []
    if (policies := READ_BY.get(option.key)) is not None:
        also.append(f"'{POLICY.key}' = '{policies[0]}'")
    own = [*also, *([] if option.key == "connector" else [option.shown])]
    listed = "WITH (" + ", ".join([f"'connector' = '{connector}'", *named, *own]) + ")"
    if side == "sink":
        backup = f"CREATE STREAM {option.example} AS {_QUERY} WITH ('connector' = 'memory');" if option is FAILOVER_TO else ""
        return (
            f"CREATE STREAM input (ts TIMESTAMP, v INT) WITH ('connector' = 'memory'); {backup} CREATE STREAM output AS {_QUERY} {listed}"
        )
    if side == "table":
        return f"CREATE TABLE input {_COLUMNS}, PRIMARY KEY (v)) {listed}"
    return f"CREATE STREAM input {'' if spec.columns else _COLUMNS + ')'} {listed}"


def _replaced_by(spec: ConnectorSpec, option: OptionSpec) -> str:
    """The required key in whose place the option may stand."""
    return next((each.key for each in spec.source or () if each.alternative == option.key), option.key)


def places() -> list[tuple[str, str, OptionSpec]]:
    """Every option with the connector and the side that take it."""
    sides = {"source": options_for_source, "table": options_for_table, "sink": options_for_sink}
    return [
        (name, side, option)
        for name, spec in CONNECTORS.items()
        for side, options in sides.items()
        if _has(spec, side)
        for option in options(name)
        # Where the columns are the connector's own, so is the event time.
        if not (spec.columns and option.key == "event.time.field")
    ]


def _has(spec: ConnectorSpec, side: str) -> bool:
    match side:
        case "source":
            return spec.source is not None and spec.is_streamable
        case "table":
            return spec.is_loadable
        case _:
            return spec.sink is not None
