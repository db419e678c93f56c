"""Topics of Apache Kafka, through Spark's own connector.

``source.py`` turns topics into a streaming frame, ``formats.py`` and ``avro.py`` decode what Spark's JSON parser does not,
``brokers.py`` asks the brokers what there is, ``group.py`` shows how far a job has read. Must not know: event time, windows, state.
"""
