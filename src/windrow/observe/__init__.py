"""What a job says about itself: its ledger, its status and its metrics.

Takes counts and clocks from the engine; gives numbers that add up, for people and for machines. Must not know: Spark, SQL.
"""
