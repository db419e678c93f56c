"""OpenTelemetry data in Parquet as streams of complete windows.

``columns`` says what a stream of each table has, ``settings`` reads its options, ``reader`` is the Spark data source over
``windrow.otap``: its offsets are ends of windows, its partitions the files of a window.
"""
