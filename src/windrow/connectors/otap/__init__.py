"""OpenTelemetry data in Parquet as streams of complete windows.

``settings`` reads the options of a stream, ``reader`` is the Spark data source over
``windrow.otap``: its offsets are ends of windows, its partitions the files of a window.
"""
