"""Made-up telemetry as OTAP Parquet, from a seed: files that differ from the exporter's in nothing but their content.

``logs``, ``spans`` and ``metrics`` make rows with ids that count from 0 in every batch, as they come over the wire;
``numbering`` does what the exporter does to ids; ``writing`` rolls files and writes them. A log's body names the host it comes
from and so does its resource, so that whoever reads the files can tell whether the two were put together rightly.
"""
