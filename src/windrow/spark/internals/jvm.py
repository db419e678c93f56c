"""Spark's own objects, as far as Python sees them, and questions about their classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class MisfitError(Exception):
    """This version of Spark lacks something that a capability calls."""


def kind_of(thing: Any) -> str:
    """The class, without its package."""
    return str(thing.getClass().getSimpleName())


def jvm_of(of: DataFrame | SparkSession) -> Any:
    """The Java side of a frame's session, or of a session."""
    session: Any = getattr(of, "sparkSession", of)
    jvm = session._jvm
    assert jvm is not None
    return jvm


def java_session(spark: SparkSession) -> Any:
    return spark._jsparkSession


def need_constructor(jvm: Any, name: str, *parameters: str) -> None:
    """Raise unless a class can be made of exactly these parameters, given by their classes without the package.

    Only the signature is looked at: nothing is made, and no class of Spark's is initialised.
    """
    found = [[parameter.getSimpleName() for parameter in one.getParameterTypes()] for one in _class(jvm, name).getConstructors()]
    if list(parameters) not in found:
        shapes = " or ".join(f"({', '.join(one)})" for one in found) or "nothing"
        raise MisfitError(f"{name} is made of {shapes}, not of ({', '.join(parameters)})")


def need_methods(jvm: Any, name: str, **arguments: int) -> None:
    """Raise unless a class has public methods of these names with so many arguments."""
    found = {(method.getName(), method.getParameterCount()) for method in _class(jvm, name).getMethods()}
    lacking = next((f"{method} with {count} arguments" for method, count in arguments.items() if (method, count) not in found), None)
    if lacking is not None:
        raise MisfitError(f"{name} has no method {lacking}")


def _class(jvm: Any, name: str) -> Any:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        return jvm.java.lang.Class.forName(name, False, loader)
    except Exception as error:
        raise MisfitError(f"there is no class {name}") from error


def heap_of(spark: SparkSession) -> tuple[int, int]:
    """Bytes of the driver's heap that are in use, and the most it may have."""
    runtime = jvm_of(spark).java.lang.Runtime.getRuntime()
    return int(runtime.totalMemory()) - int(runtime.freeMemory()), int(runtime.maxMemory())
