"""Telemetry to a collector: rows with the columns of an OTAP stream as OTLP requests over gRPC or HTTP, at least once.

``fields`` says which columns each signal has, ``client`` sends one request, ``failures`` says what an answer means, ``sink`` cuts
batches into requests and waits out an outage.
"""
