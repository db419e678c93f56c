"""Expressions of the dialect become Spark SQL text.

Takes expressions and queries of the model; gives text. Knows no batch, no state and no rows.
"""
