"""What has changed between two plans of a job, and what that means for the state that the first one made.

Takes plans as JSON, as ``job.json`` keeps them, and as jobs; gives changes, each with its class and its reason. Knows no state and no
Spark.
"""

from windrow.changes.classes import Change, ChangeClass
from windrow.changes.classify import changes_between
from windrow.changes.cutting import cut_over
from windrow.changes.function_changes import calls, other_functions
from windrow.changes.mixing import Strategy, mixed, rebuilt, why_not_rebuilt

__all__ = [
    "Change",
    "ChangeClass",
    "Strategy",
    "calls",
    "changes_between",
    "cut_over",
    "mixed",
    "other_functions",
    "rebuilt",
    "why_not_rebuilt",
]
