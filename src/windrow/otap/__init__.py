"""OpenTelemetry data in Parquet, as the OTAP exporter writes it: files of telemetry in, complete event-time windows out.

``tables`` says what the files hold and ``columns`` what SQL sees of it, ``generate`` writes such files from a seed, ``timing``
says which window is safe at which time, ``discovery`` finds the files that cover one, and ``windows`` reads its rows with their
attributes. Takes folders and clocks, gives Arrow tables. Must not know: Spark, SQL, the command line.
"""
