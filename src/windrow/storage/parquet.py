"""Small Parquet files that are at hand as bytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq


def read_parquet(data: bytes) -> pa.Table:
    """One thread, and no Python object to read from: Arrow's pool may still look at one when a short command ends, and abort it
    (apache/arrow#33975).
    """
    return pq.ParquetFile(pa.BufferReader(data), pre_buffer=False).read(use_threads=False)
