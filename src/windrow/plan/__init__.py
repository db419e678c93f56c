"""A checked file becomes a frozen plan of stages, each with the reason it was chosen.

Takes a Script that passed the checks; gives jobs made of stages. The same stages are explained and executed. Pure: no
network, no clock, no environment, no Spark.
"""

from windrow.plan.planner import bare_names, plan_part, plan_script
from windrow.plan.stages import Plan

__all__ = ["Plan", "bare_names", "plan_part", "plan_script"]
