"""What the generator does: indices at the asked rate, and the rows they stand for as JSON text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.generator.fields import fields_for, validate_fields
from windrow.connectors.generator.settings import Settings, read_settings
from windrow.connectors.runtime import RAW, SEQ, Connector, SourceRequest, SourceStream
from windrow.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    settings = read_settings(request.options)
    findings = validate_fields(request.columns, request.options)
    if findings:
        key, message = findings[0]
        raise UsageError("WR530", f"'{key}' = '{request.options[key]}': {message}")
    if request.is_bounded and settings.rows is None:
        raise UsageError("WR532", f"{request.name} makes rows without end, so a run to its end would never finish", "'rows' = '1000'")
    return SourceStream(_frame(spark, request, settings), settings.partitions, "json")


def _frame(spark: SparkSession, request: SourceRequest, settings: Settings) -> DataFrame:
    from pyspark.sql import functions as F

    from windrow.connectors.generator.expressions import RowMaker

    index = F.col("index")
    maker = RowMaker(settings, request.columns, fields_for(request.columns, request.options), index)
    partitions = F.lit(settings.partitions)
    return maker.rows(_indices(spark, settings)).select(
        F.col("raw").alias(RAW),
        F.lit(None).cast("timestamp").alias("_timestamp"),
        F.pmod(index, partitions).cast("int").alias("_partition"),
        F.call_function("div", index, partitions).alias("_offset"),
        F.lit(None).cast("string").alias("_topic"),
        F.lit(None).cast("string").alias("_key"),
        F.lit(None).cast("map<string,string>").alias("_headers"),
        index.alias(SEQ),
    )


def _indices(spark: SparkSession, settings: Settings) -> DataFrame:
    from windrow.connectors.generator.reader import FORMAT, IndexSource

    spark.dataSource.register(IndexSource)
    options = {
        "rate": "" if settings.rows_per_second is None else str(settings.rows_per_second),
        "rows": "" if settings.rows is None else str(settings.rows),
        "batch": str(settings.rows_per_batch),
        "tasks": str(spark.sparkContext.defaultParallelism),
    }
    return spark.readStream.format(FORMAT).options(**options).load()


class GeneratorConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)
