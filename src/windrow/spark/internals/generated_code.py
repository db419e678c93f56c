"""The Java code that Spark writes for a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from windrow.spark.internals.jvm import jvm_of, need_methods

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def probe(spark: SparkSession) -> None:
    need_methods(jvm_of(spark), "org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator", compile=1)
    need_methods(jvm_of(spark), "org.apache.spark.sql.catalyst.expressions.codegen.ByteCodeStats", maxMethodCodeSize=0)
    need_methods(jvm_of(spark), "org.apache.spark.sql.execution.WholeStageCodegenExec", doCodeGen=0)


def longest_method(jvm: Any, compiled: Any) -> int:
    """How many bytes of bytecode the longest method of a plan has, which must be one that Spark compiles."""
    made = jvm.org.apache.spark.sql.catalyst.expressions.codegen.CodeGenerator.compile(compiled.doCodeGen()._2())
    return int(made._2().maxMethodCodeSize())
