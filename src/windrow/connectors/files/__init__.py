"""Files in a folder: JSON lines, CSV and Parquet, read as they arrive and written batch by batch.

``source.py`` turns a path into a streaming frame, ``sink.py`` makes the rows of a batch durable under names that follow
from the batch id. ``places.py`` hides which file system it is. Must not know:
decoding of ``_raw``, event time, windows.
"""
