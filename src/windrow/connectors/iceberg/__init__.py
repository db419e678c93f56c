"""Apache Iceberg: sinks whose batches are commits of a table, and tables that are loaded and refreshed.

Takes options and rows, gives commits that name their batch, or rows. The library is Apache PyIceberg, which needs no Spark.
Must not know: windows, state, Spark's catalogs.
"""
