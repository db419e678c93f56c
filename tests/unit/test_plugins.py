"""Entry points of other packages: found when a name is asked for, and refused with the package's name when they cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint

import pytest

import windrow
from windrow import plugins
from windrow.aggregates import Aggregate, Part, Signature
from windrow.aggregates.base import total
from windrow.catalog.python_functions import ScalarFunction
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec
from windrow.errors import UsageError
from windrow.model.types import DOUBLE

Install = Callable[..., None]
_SUM = (Part("s", "sum({0} * {0}){over}", total("s")),)
QUAD = Aggregate(_SUM, "{s}", signature=Signature("quad(expr)", "sum of squares", returns=lambda _: DOUBLE))
UNSIGNED = Aggregate(_SUM, "{s}")
HALF = ScalarFunction("tests.unit.test_plugins:half", (("x", "DOUBLE"),), "DOUBLE", "half of it")
NOWHERE = ConnectorSpec("nowhere", "nothing at all", "tests.unit.test_plugins:Missing", sink=())
SOURCE = "CREATE STREAM s (v DOUBLE) WITH ('connector' = 'memory');"


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Make entry points as if a package had brought them."""
    brought: dict[str, dict[str, tuple[EntryPoint, ...]]] = {}

    def one(group: str, name: str, *values: str) -> None:
        brought.setdefault(group, {})[name] = tuple(EntryPoint(name, f"tests.unit.test_plugins:{value}", group) for value in values)

    def found(group: str) -> dict[str, tuple[EntryPoint, ...]]:
        return brought.get(group, {})

    monkeypatch.setattr(plugins, "entry_points_of", found)
    monkeypatch.setattr("windrow.catalog.functions.entry_points_of", found)
    return one


def test_an_aggregate_and_a_function_of_a_package_are_known(install: Install) -> None:
    install(plugins.AGGREGATES, "quad", "QUAD")
    install(plugins.FUNCTIONS, "half", "HALF")
    compiled = windrow.compile(f"{SOURCE} SELECT QUAD(HALF(v)) AS q FROM s WINDOW TUMBLING(1m);")
    [job] = compiled.plan.jobs
    assert [(each.name, each.target) for each in job.functions] == [("half", "tests.unit.test_plugins:half")]
    assert "QUAD(HALF(v))" in compiled.explain()


def test_an_argument_of_the_wrong_type_is_found(install: Install) -> None:
    install(plugins.FUNCTIONS, "half", "HALF")
    with pytest.raises(windrow.SqlError, match="HALF"):
        windrow.compile("CREATE STREAM s (a ARRAY<INT>) WITH ('connector' = 'memory'); SELECT HALF(a) FROM s;")


def test_a_connector_of_a_package_is_known(install: Install) -> None:
    install(plugins.CONNECTORS, "nowhere", "NOWHERE")
    assert "nowhere" in CONNECTORS
    assert "nowhere" in list(CONNECTORS)
    windrow.compile(f"{SOURCE} CREATE STREAM o AS SELECT v FROM s WITH ('connector' = 'nowhere');")


def test_a_name_of_windrow_cannot_be_taken(install: Install) -> None:
    own = CONNECTORS["files"]
    install(plugins.CONNECTORS, "files", "NOWHERE")
    assert CONNECTORS["files"] is own
    assert list(CONNECTORS).count("files") == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("GONE",), 'cannot be loaded: AttributeError: .*"?GONE'),
        (("HALF",), "is a ScalarFunction, and a ConnectorSpec is needed"),
        (("NOWHERE", "NOWHERE"), 'several packages bring "nowhere"'),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(install: Install, values: tuple[str, ...], message: str) -> None:
    install(plugins.CONNECTORS, "nowhere", *values)
    with pytest.raises(UsageError, match=message) as caught:
        windrow.compile(f"{SOURCE} CREATE STREAM o AS SELECT v FROM s WITH ('connector' = 'nowhere');")
    assert caught.value.code == "WR650"


def test_an_aggregate_says_what_it_takes(install: Install) -> None:
    install(plugins.AGGREGATES, "quad", "UNSIGNED")
    with pytest.raises(UsageError, match="says nothing of its arguments") as caught:
        windrow.compile(f"{SOURCE} SELECT QUAD(v) AS q FROM s WINDOW TUMBLING(1m);")
    assert caught.value.code == "WR650"


def test_a_class_that_is_not_there_is_told_with_its_connector(install: Install) -> None:
    from windrow.jobs.connector_loader import connector_of

    install(plugins.CONNECTORS, "nowhere", "NOWHERE")
    with pytest.raises(UsageError, match='the connector "nowhere" cannot be loaded') as caught:
        connector_of("nowhere")
    assert caught.value.code == "WR650"
