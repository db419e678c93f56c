"""Rows of a batch as relations that are not computed yet, and the queries over them that are run.

Takes frames and SQL text; gives Arrow tables. Knows no stage of a plan.
"""
