"""Databases other than PostgreSQL, by a JDBC driver that the user brings: sinks that write at least once, and tables that are loaded.

Takes options and rows, gives rows in a table, or the rows of one. Rows go through Spark's JDBC source; what replaces rows is SQL of the
database. Must not know: windows, state, any one database but for its dialect.
"""
