"""The only door to what Spark does not promise: private attributes of PySpark, classes inside the JVM, files of its checkpoints.

One capability a file. Those that only make a job faster are listed in ``fast_paths``: each is probed when a session starts, falls back
to Spark's public API when it does not fit or throws, and is switched off by ``--set engine.fast_paths=off``. What has no public
counterpart (``checkpoint_log``, ``arrow_map``) is checked where it is used. Nothing outside this folder touches such a thing:
``tests/unit/test_imports.py`` looks. Connectors may import it, so it imports nothing of ours but errors, settings and ``windrow.java``.
"""
