"""Which columns follow from which: a fold over the stages of a plan.

Takes plans; gives edges between columns of sources, statements and what statements write, and drawings of them. Knows no Spark, and
looks at nothing but the plan, so it says what runs.
"""

from windrow.lineage.fold import lineage_of
from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, EdgeKind, Lineage
from windrow.lineage.paths import Asked, downstream, find_column, upstream

__all__ = ["ROWS", "Asked", "ColumnRef", "Dataset", "Edge", "EdgeKind", "Lineage", "downstream", "find_column", "lineage_of", "upstream"]
