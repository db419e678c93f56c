"""Columns of datasets, and the edges between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
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
    # Whether the name is a pattern, which stands for every topic that it fits.
    is_pattern: bool = False

    def stands_for(self, other: Dataset) -> bool:
        """
        >>> Dataset("kafka://b", "shop_.*", True, True).stands_for(Dataset("kafka://b", "shop_orders", True))
        True
        """
        if not self.is_pattern or other.is_pattern or other.namespace != self.namespace:
            return False
        try:
            return re.fullmatch(self.name, other.name) is not None
        except re.error:
            # What Java understands and Python does not links nothing.
            return False

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
        edges += pattern_edges(columns)
        return Lineage(columns, tuple(dict.fromkeys(edges)), tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)), types)


def pattern_edges(columns: Mapping[Dataset, tuple[str, ...]]) -> Iterator[Edge]:
    """From topics to the patterns that stand for them: who reads by a pattern reads what others write."""
    for pattern in (dataset for dataset in columns if dataset.is_pattern):
        for topic in (dataset for dataset in columns if pattern.stands_for(dataset)):
            for name in (name for name in columns[pattern] if name in columns[topic]):
                yield Edge(ColumnRef(pattern, name), ColumnRef(topic, name), EdgeKind.IDENTITY)
            yield Edge(ColumnRef(pattern, ROWS), ColumnRef(topic, ROWS), EdgeKind.ROWS)
