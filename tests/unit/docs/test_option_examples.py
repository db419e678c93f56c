"""The example of every option, in a statement that takes it."""

from __future__ import annotations

import pytest

from tools.reference.options import places, statement_with
from windrow.compiler import compile_sql
from windrow.connectors.spec import OptionSpec
from windrow.jobs.options import RUN_SETTINGS, check_setting

# What examples name of the environment.
ENVIRONMENT = {"PGUSER": "windrow", "PGPASSWORD": "secret", "TOKEN": "secret"}


@pytest.mark.parametrize(("connector", "side", "option"), places(), ids=lambda part: part.key if isinstance(part, OptionSpec) else part)
def test_option_passes_the_checks(connector: str, side: str, option: OptionSpec) -> None:
    compile_sql(statement_with(connector, side, option), "example", ENVIRONMENT)


@pytest.mark.parametrize("key", RUN_SETTINGS)
def test_setting_is_accepted(key: str) -> None:
    check_setting(key, RUN_SETTINGS[key].example)
