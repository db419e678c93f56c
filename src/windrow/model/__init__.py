"""What a query means: frozen values, and nothing else.

Takes nothing, imports nothing of ours. Everything downstream (checks, plan, explain, execution) reads these values.
Must not know: sqlglot, Spark, files, clocks.
"""
