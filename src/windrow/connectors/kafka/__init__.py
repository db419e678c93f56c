"""Topics of Apache Kafka: rows leave for one batch by batch, each batch in a transaction that also notes its number.

``sink.py`` writes, ``commits.py`` remembers what was written, ``records.py`` turns rows into records, ``client.py`` and
``topics.py`` talk to the broker, ``failures.py`` says what its errors mean. Must not know: windows, state.
"""
