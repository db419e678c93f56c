"""The outside world, one folder a connector: how rows come in and how they leave.

Takes checked options, gives streaming DataFrames (sources) and idempotent writers (sinks). A connector states what it
understands in its ``spec.py``, which imports no Spark, so that checks and ``--help`` stay instant; what it does is in its
``runtime.py``. A new connector is one folder and one line in ``registry.py``. Must not know: windows, state, the CLI.
"""
