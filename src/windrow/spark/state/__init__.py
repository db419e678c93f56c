"""The state of a job between two batches: in the driver or on the executors, durable as change files and snapshots.

Takes the inputs of steps; gives state that can be loaded again. Knows no SQL.
"""
