"""Columns of datasets, and the edges between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

# Stands for which rows a dataset has, and how many: what every one of its columns depends on.
ROWS = "*"


class EdgeKind(Enum):
    """How a column follows from another. The first three hand values on; the others decide about them."""

    IDENTITY = "identity"
    TRANSFORMATION = "transformation"
    AGGREGATION = "aggregation"
    FILTER = "filter"
    GROUP_BY = "group_by"
    JOIN = "join"
    WINDOW = "window"
    SORT = "sort"
    CONDITIONAL = "conditional"
    # The rows of one dataset are made from those of another.
    ROWS = "rows"

    @property
    def is_direct(self) -> bool:
        return self in _DIRECT


_DIRECT = (EdgeKind.IDENTITY, EdgeKind.TRANSFORMATION, EdgeKind.AGGREGATION)


@dataclass(frozen=True, order=True)
class Dataset:
    """What has columns. Of a topic, table or folder the names are those of OpenLineage; a statement belongs to its file."""

    namespace: str
    name: str
    # Whether it is outside of the file: two files that name it mean the same.
    is_outside: bool = False

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.is_outside else self.name


@dataclass(frozen=True, order=True)
class ColumnRef:
    dataset: Dataset
    column: str

    def __str__(self) -> str:
        return f"rows of {self.dataset}" if self.column == ROWS else f"{self.dataset}.{self.column}"

    @property
    def rows(self) -> ColumnRef:
        return ColumnRef(self.dataset, ROWS)


@dataclass(frozen=True)
class Edge:
    """``output`` follows from ``input``; ``expr`` is the expression of the output, where that says more than its name."""

    output: ColumnRef
    input: ColumnRef
    kind: EdgeKind
    expr: str = ""


@dataclass(frozen=True)
class Lineage:
    """``columns`` are those that a reader sees, by dataset in the order of the files; edges may speak of system columns as well."""

    columns: dict[Dataset, tuple[str, ...]]
    edges: tuple[Edge, ...]
    # Where a file reads, and where it writes: stream or statement, and what is outside.
    reads: tuple[tuple[Dataset, Dataset], ...] = ()
    writes: tuple[tuple[Dataset, Dataset], ...] = ()
    types: dict[ColumnRef, str] | None = None

    @staticmethod
    def together(parts: Iterable[Lineage]) -> Lineage:
        """Several files as one: what is outside links them."""
        columns: dict[Dataset, tuple[str, ...]] = {}
        edges: list[Edge] = []
        reads: list[tuple[Dataset, Dataset]] = []
        writes: list[tuple[Dataset, Dataset]] = []
        types: dict[ColumnRef, str] = {}
        for part in parts:
            for dataset, names in part.columns.items():
                columns[dataset] = tuple(dict.fromkeys((*columns.get(dataset, ()), *names)))
            edges += part.edges
            reads += part.reads
            writes += part.writes
            types.update(part.types or {})
        return Lineage(columns, tuple(dict.fromkeys(edges)), tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)), types)
