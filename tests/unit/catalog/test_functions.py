"""The facts about functions that the checks stand on."""

from __future__ import annotations

import pytest

from windrow.catalog.functions import FunctionKind, closest_functions, function, functions

AGGREGATES = (
    "COUNT SUM AVG MIN MAX STDDEV STDDEV_SAMP STDDEV_POP VARIANCE VAR_SAMP VAR_POP FIRST LAST FIRST_VALUE LAST_VALUE ANY_VALUE MEDIAN "
    "PERCENTILE_CONT PERCENTILE_DISC APPROX_COUNT_DISTINCT APPROX_PERCENTILE STRING_AGG LISTAGG ARRAY_AGG COLLECT_LIST COLLECT_SET "
    "MIN_BY MAX_BY DELTA CORR COVAR_POP COVAR_SAMP REGR_SLOPE COUNT_IF BOOL_AND BOOL_OR EVERY SOME ANY COUNT_DISTINCT"
)
WINDOW_ONLY = "ROW_NUMBER RANK DENSE_RANK PERCENT_RANK CUME_DIST NTILE LAG LEAD NTH_VALUE"


@pytest.mark.parametrize(
    ("names", "kind"),
    [(AGGREGATES, FunctionKind.AGGREGATE), (WINDOW_ONLY, FunctionKind.WINDOW), ("EXPLODE POSEXPLODE INLINE STACK", FunctionKind.GENERATOR)],
)
def test_kinds(names: str, kind: FunctionKind) -> None:
    found = {name: known.kind if (known := function(name)) is not None else None for name in names.split()}
    assert found == dict.fromkeys(names.split(), kind)


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("CEIL", (1, 2), (0, 3)), ("ROUND", (1, 2), (0, 3)), ("SUBSTRING", (2, 3), (1, 4)), ("LAG", (1, 2, 3), (0, 4)),
        ("ROW_NUMBER", (0,), (1,)),
        ("STDDEV", (1,), (0, 2)), ("COALESCE", (1, 5), (0,)), ("CONCAT", (1, 9, 30), ()), ("POSITION", (2, 3), (1, 4)),
        ("HEADER", (1,), (0, 2)),
        ("TO_TIMESTAMP", (1, 2), (0, 3)), ("DATEADD", (2, 3), (1, 4)), ("COUNT", (1, 3), (0,)), ("JSON_VALUE", (2,), (1,)),
        ("IF", (3,), (2,)),
        ("CURRENT_TIMESTAMP", (0,), (2,)), ("DATE_TRUNC", (2,), (1,)), ("LOG", (1, 2), (0, 3)), ("MAKE_TIMESTAMP", (6, 7), (9,)),
    ],
)  # fmt: skip
def test_argument_counts(name: str, allowed: tuple[int, ...], refused: tuple[int, ...]) -> None:
    known = function(name)
    assert known is not None
    assert [count for count in allowed if not known.accepts(count)] == []
    assert [count for count in refused if known.accepts(count)] == []


def test_every_function_says_what_it_does() -> None:
    assert [known.name for known in functions().values() if not known.signature or not known.doc] == []


def test_all_of_spark_is_there() -> None:
    assert len(functions()) > 550


def test_closest_names_come_first() -> None:
    assert closest_functions("STDEV")[0] == "STDDEV"
