"""What the records of a job's batches say about it: EXPLAIN ANALYZE, the topology, why a window or row is where it is, and advice.

Takes a job's plan and the records of its batches; gives findings with their figures, as values and as text. Must not know: Spark, files,
the wall clock.
"""
