"""Rows of a window back into telemetry: OTAP batches and OTLP requests, partition by partition.

``collect`` gathers a signal's tables for a window, ``batches`` cuts and renumbers them as they go over the wire, ``wire`` writes
OTAP messages, ``otlp`` OTLP ones.
"""
