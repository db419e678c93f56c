"""Names of columns that rows get while they are computed: those of the row protocol are refused where a user declares them."""

from __future__ import annotations

import pytest

from windrow.model.system import is_hidden, system_column
from windrow.spark import row_columns
from windrow.spark.operators import over_aggregate

PROTOCOL = {value for value in vars(row_columns).values() if isinstance(value, str) and value.startswith("_") and value.islower()}
PREFIXES = {row_columns.CLOCK, row_columns.WARNED}


@pytest.mark.parametrize("name", sorted(PROTOCOL - PREFIXES))
def test_the_row_protocol_is_hidden(name: str) -> None:
    assert is_hidden(name) or system_column(name) is not None


@pytest.mark.parametrize(
    "name", [*(f"{prefix}0" for prefix in sorted(PREFIXES)), over_aggregate.IS_NEW, over_aggregate.ORDER, over_aggregate.key_name(1, 2)]
)
def test_numbered_columns_and_those_of_over_are_hidden(name: str) -> None:
    assert is_hidden(name)


@pytest.mark.parametrize("name", ["_id", "_n", "_value", "_source", "_index", "_type", "t", "row"])
def test_names_that_users_have_are_not(name: str) -> None:
    assert not is_hidden(name)
