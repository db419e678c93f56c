"""Stages become a running query: the only place, with the connectors, where Spark lives.

Takes a plan's job; gives an executor that turns the rows of one micro-batch into emissions, dead letters, a ledger and the next
state. Must not know: the command line, SQL text of the user, how long a job runs.
"""
