"""One file of a group: its plan and lineage, what it reads and writes outside, and who it belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from windrow.catalog import Catalog
from windrow.lineage import ColumnRef, Dataset, Lineage, lineage_of
from windrow.lineage.datasets import outside
from windrow.model.notes import Alert, Metric, Notes
from windrow.model.statement import Script, Statement
from windrow.model.types import UNKNOWN, ColumnDef, DataType
from windrow.plan.stages import Job, LoadTable, Plan, Read, Stage, Write


@dataclass(frozen=True)
class Access:
    """One way of a file to something outside: a stream or table that it reads, or a statement that it writes.

    ``options`` are by their keys in lower case.
    """

    file: str
    job: str
    statement: str
    place: Dataset
    connector: str
    columns: tuple[ColumnDef, ...]
    options: Mapping[str, str]
    is_table: bool = False

    def __str__(self) -> str:
        return f"{self.statement} of {self.file}"

    def column(self, name: str) -> ColumnDef | None:
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True)
class Member:
    """``types`` are those of the columns of every stream, table and statement, as far as they are known without Spark."""

    file: str
    plan: Plan
    lineage: Lineage
    statements: tuple[Statement, ...]
    types: Mapping[ColumnRef, DataType]
    reads: tuple[Access, ...]
    writes: tuple[Access, ...]

    @staticmethod
    def of(script: Script, catalog: Catalog, plan: Plan, file: str) -> Member:
        types = {
            ColumnRef(Dataset(file, relation.name), column.name): column.type
            for relation in catalog.relations.values()
            for column in relation.columns
        }
        reads: dict[tuple[str, Dataset], Access] = {}
        writes: list[Access] = []
        for job in plan.jobs:
            for stage in job.stages:
                if isinstance(stage, Write):
                    known = (column for column in stage.columns if column.type != UNKNOWN)
                    types |= {ColumnRef(Dataset(file, stage.input), column.name): column.type for column in known}
                for access in _accesses(stage, job, file):
                    if isinstance(stage, Write):
                        writes.append(access)
                    else:
                        # A table is loaded by every job that reads it; it is told once.
                        reads.setdefault((access.statement, access.place), access)
        lineage = lineage_of(plan, file)
        return Member(file, plan, lineage, script.statements, types, tuple(reads.values()), tuple(writes))

    def notes_of(self, name: str) -> Notes:
        """What is said before a statement."""
        return next((each.notes for each in self.statements if getattr(each, "name", "").lower() == name.lower()), Notes())

    def about(self, what: str, name: str | None = None) -> str | None:
        """``owner``, ``version``, ``app`` or ``description``: of a statement, or else of the file, where it is said first."""
        own: str | None = None if name is None else getattr(self.notes_of(name), what)
        return own or next((found for each in self.statements if (found := getattr(each.notes, what)) is not None), None)

    def other_note(self, *keys: str) -> str | None:
        """The first annotation of one of these names, which mean nothing to Windrow."""
        found = (value for each in self.statements for key, value in each.notes.others if key.lower() in keys)
        return next(found, None)

    @property
    def metrics(self) -> tuple[tuple[str, Metric], ...]:
        return self.plan.metrics

    @property
    def alerts(self) -> tuple[Alert, ...]:
        return self.plan.alerts

    def statement_names(self) -> list[str]:
        """What is computed, in the order of the plan, by the names that readers know."""
        return [stage.name for job in self.plan.jobs for stage in job.stages if is_statement(stage)]


def is_statement(stage: Stage) -> bool:
    return not isinstance(stage, Read | LoadTable | Write) and "/" not in stage.name


def _accesses(stage: Stage, job: Job, file: str) -> Iterator[Access]:
    match stage:
        case Read() | LoadTable():
            read = stage if isinstance(stage, Read) else stage.read
            given = (stage.name, read.connector, read.columns, dict(read.options))
        case Write():
            given = (stage.input, stage.connector, stage.columns, dict(stage.options))
        case _:
            return
    name, connector, columns, options = given
    for place in outside(connector, options):
        lower = {key.lower(): value for key, value in options.items()}
        yield Access(file, job.name, name, place, connector, columns, lower, isinstance(stage, LoadTable))
