"""Throughput as ratios: the same query by hand in Structured Streaming and as a Windrow file, in one run on one machine.

``python -m benchmarks --rows 10000000`` prints a table. Nothing here is asserted: machines differ and are noisy.
"""
