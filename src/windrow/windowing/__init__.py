"""Rows and time in, emissions out: the step that every micro-batch takes.

Takes tables (one row per group and slice of event time, made elsewhere), the state of the batch before and the clock; gives
the state after, the emissions that are due, and nothing else. Pure and deterministic, so a batch that runs twice gives the
same twice, and a change file is simply the step's own input. Must not know: Spark, SQL text, files, the wall clock.
"""
