"""PostgreSQL: a sink that writes each batch in one transaction with its number, and tables that are loaded and refreshed.

Takes options and rows, gives rows in a table of the database, or the rows of one. The driver talks to the server itself
(psycopg), always through a Guard. Must not know: windows, state, Spark's JDBC.
"""
