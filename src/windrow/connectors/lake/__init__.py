"""Tables of files in an open format, such as Delta Lake and Apache Iceberg: what their sinks and sources have in common.

Takes rows and a ``LakeStore``, gives commits of the table that are made once for each batch, or the rows of a table. Must not know:
which library reads and writes the format.
"""
