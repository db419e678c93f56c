"""Several files together: who reads what of whom, what is shared and could be, what a change of one does to the others.

Takes checked files with their plans, and the records of their batches where there are some; gives groups, verdicts and pages. Knows no
Spark and no running job.
"""

from windrow.groups.group import Conflict, Group
from windrow.groups.member import Access, Member
from windrow.groups.verdicts import Verdict

__all__ = ["Access", "Conflict", "Group", "Member", "Verdict"]
