"""Topics of Apache Kafka: read through Spark's own connector, written batch by batch in transactions that also note the batch.

``source.py`` turns topics into a streaming frame, ``formats.py``, ``avro.py`` and ``protobuf.py`` decode what Spark's JSON parser does not,
``brokers.py`` asks the brokers what there is, ``group.py`` shows how far a job has read. ``sink.py`` writes, ``commits.py`` remembers
what was written, ``records.py`` turns rows into records. Both sides share ``client.py``, the settings of our clients, and
``failures.py``, what their errors mean. Must not know: event time, windows, state.
"""
