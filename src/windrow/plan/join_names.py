"""The inputs of a join, and the columns of its rows: each has one name there, ``alias.column`` in lower case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from windrow.catalog.scope import Binding
from windrow.model.expr import Column
from windrow.model.system import SYSTEM_COLUMNS
from windrow.model.types import UNKNOWN, ColumnDef, DataType
from windrow.plan.stages import TableRows
from windrow.plan.window_times import WindowTimes


@dataclass(frozen=True)
class JoinInput:
    """One name that FROM brings in: ``stage`` gives its rows, or ``rows`` where it is a query over tables."""

    alias: str
    stage: str
    columns: tuple[ColumnDef, ...]
    is_table: bool
    rows: TableRows | None = None
    # The column that a stream takes its event time from, in lower case.
    time_field: str | None = None
    # Its columns that are bounds of a window.
    window_times: WindowTimes = field(default_factory=dict)

    @staticmethod
    def of(binding: Binding, stage: str, position: int, rows: TableRows | None = None) -> JoinInput:
        return JoinInput(binding.name.lower() or f"from{position}", stage, binding.columns, binding.kind == "table", rows)

    @property
    def physical(self) -> tuple[ColumnDef, ...]:
        """Its columns and system columns under their physical names."""
        own = [ColumnDef(self.name_of(c.name), c.type) for c in self.columns]
        return (*own, *(ColumnDef(self.name_of(c.name), c.type) for c in SYSTEM_COLUMNS))

    def name_of(self, column: str) -> str:
        return f"{self.alias}.{column}".lower()

    def has(self, column: str) -> bool:
        return any(c.name.lower() == column.lower() for c in self.columns)


@dataclass(frozen=True)
class JoinedColumns:
    """The columns of joined rows, system columns of each input among them."""

    types: Mapping[str, DataType]

    @staticmethod
    def of(inputs: tuple[JoinInput, ...]) -> JoinedColumns:
        return JoinedColumns({column.name: column.type for given in inputs for column in given.physical})

    def type_of(self, column: Column) -> DataType:
        return self.types.get(column.name, UNKNOWN)
