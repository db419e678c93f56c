"""``windrow serve``: which jobs there are, which of them should run, and the HTTP API and page over that.

Takes SQL files and wishes (run, stop); gives job processes, each of which is a ``windrow run`` of its own that outlives the server. Must
not know: Spark. Nothing that a job computes depends on the server, and its registry can be made again from the folders of the jobs.
"""
