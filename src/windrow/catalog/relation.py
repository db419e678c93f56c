"""A stream or table and what its rows have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from windrow.catalog.functions import Function
from windrow.model.statement import Statement
from windrow.model.system import Origin
from windrow.model.types import ColumnDef

RelationKind = Literal["stream", "table"]
ROW_ONLY = frozenset({Origin.ROW})


@dataclass(frozen=True)
class Relation:
    """``columns`` are what ``SELECT *`` gives. ``defined_by`` is None where the caller inferred it from rows."""

    name: str
    kind: RelationKind
    columns: tuple[ColumnDef, ...]
    defined_by: Statement | None = None
    # False: its definition is broken, so nothing that reads it is judged.
    is_known: bool = True
    # Which kinds of system column its rows carry.
    origins: frozenset[Origin] = ROW_ONLY

    def column(self, name: str) -> ColumnDef | None:
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


class Names(Protocol):
    """What a query can name."""

    def relation(self, name: str) -> Relation | None: ...

    def function(self, name: str) -> Function | None: ...


@dataclass(frozen=True)
class WithCommonTables:
    """Names as seen under a WITH: the common tables first, then what stands around them."""

    around: Names
    common: tuple[Relation, ...]

    def relation(self, name: str) -> Relation | None:
        found = next((table for table in reversed(self.common) if table.name.lower() == name.lower()), None)
        return found or self.around.relation(name)

    def function(self, name: str) -> Function | None:
        return self.around.function(name)
