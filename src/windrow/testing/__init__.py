"""Cases: a query, its input in arrival order, and what must come out. For our own tests and for users' queries alike.

Takes case files, gives verdicts. Runs the very programs that jobs run, batch by batch, with a clock that a case controls.
"""

from windrow.testing.case import Case, load_cases
from windrow.testing.runner import CaseRunner, Verdict

__all__ = ["Case", "CaseRunner", "Verdict", "load_cases"]
