"""Made-up rows, the same for the same seed however they are cut into batches: for demos, tests and load.

A row is a function of its index and the seed. ``reader.py`` hands out indices at the asked rate, ``expressions.py`` makes
columns of them in Catalyst, ``fields.py`` is the small language of ``fields.<column>`` and imports no Spark.
"""
