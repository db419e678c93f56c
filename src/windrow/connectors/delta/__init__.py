"""Delta Lake: sinks whose batches are commits of a table, and tables that are loaded and refreshed.

Takes options and rows, gives commits that name their batch, or rows. The library is delta-rs (``deltalake``), which needs no Spark.
Must not know: windows, state, Spark's own reader of Delta tables.
"""
