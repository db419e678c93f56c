"""Spark's own objects, as far as Python sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def kind_of(thing: Any) -> str:
    """The class, without its package."""
    return str(thing.getClass().getSimpleName())


def jvm_of(frame: DataFrame) -> Any:
    jvm = frame.sparkSession._jvm
    assert jvm is not None
    return jvm
