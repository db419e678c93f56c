"""Systems to try things with on this machine: a Kafka broker with rows in and out of its topics, a PostgreSQL server.

Takes folders, ports and rows, gives running processes and records. Must not know: SQL, jobs, Spark, the command line.
"""
