"""A plan as edges between columns: stage by stage, in the order rows flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from windrow.lineage.datasets import outside
from windrow.lineage.flows import SYSTEM, Flow, dataset_flow
from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, EdgeKind, Lineage
from windrow.lineage.origins import Origins
from windrow.lineage.stages import flow_of
from windrow.plan.stages import Job, LoadTable, Plan, Read, Stage, Write


def lineage_of(plan: Plan, file: str) -> Lineage:
    """The columns of a file. What it reads and writes outside has a name that other files know, too."""
    return Lineage.together(_Fold(file, job).lineage() for job in plan.jobs)


@dataclass
class _Fold:
    """One job. A statement of the file's own is a dataset of its own: what reads it starts from its columns."""

    file: str
    job: Job
    columns: dict[Dataset, tuple[str, ...]] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    reads: list[tuple[Dataset, Dataset]] = field(default_factory=list)
    writes: list[tuple[Dataset, Dataset]] = field(default_factory=list)
    types: dict[ColumnRef, str] = field(default_factory=dict)

    def lineage(self) -> Lineage:
        flows: dict[str, Flow] = {}
        stages: dict[str, Stage] = {stage.name: stage for stage in self.job.stages}
        for stage in self.job.stages:
            match stage:
                case Read():
                    flows[stage.name] = self._read(stage)
                case LoadTable(read=read):
                    flows[stage.name] = self._read(read)
                case Write():
                    self._write(stage, flows[stage.input])
                case _:
                    flow = flow_of(stage, flows, stages)
                    flows[stage.name] = self._statement(stage.name, flow) if "/" not in stage.name else flow
        return Lineage(self.columns, tuple(_without_unused(self.edges, self.columns)), tuple(self.reads), tuple(self.writes), self.types)

    def _dataset(self, name: str) -> Dataset:
        return Dataset(self.file, name)

    def _read(self, read: Read) -> Flow:
        dataset = self._dataset(read.name)
        names = tuple(column.name for column in read.columns)
        self.columns[dataset] = names
        self.types |= {ColumnRef(dataset, column.name): str(column.type) for column in read.columns}
        for place in outside(read.connector, dict(read.options)):
            self.reads.append((dataset, place))
            self._add_identities(dataset, place, names)
        rows = ColumnRef(dataset, ROWS)
        if read.time.column is not None:
            time = next((name for name in names if name.lower() == (read.time.column or "").lower()), read.time.column)
            stated = ColumnRef(dataset, time)
            self.edges.append(Edge(ColumnRef(dataset, "_event_time"), stated, EdgeKind.TRANSFORMATION))
            # A row without a usable time, or far in the future, is set aside.
            self.edges.append(Edge(rows, stated, EdgeKind.FILTER))
        return dataset_flow(dataset, names, is_open=not names)

    def _statement(self, name: str, flow: Flow) -> Flow:
        """Note how a statement's columns follow from those of what it reads; what follows starts from it."""
        dataset = self._dataset(name)
        self.columns[dataset] = tuple(flow.visible)
        for column, origins in flow.visible.items():
            self._add(ColumnRef(dataset, column), origins, flow.texts.get(column, ""))
        shown = {column.lower() for column in flow.visible}
        for column, origins in flow.hidden.items():
            if column in SYSTEM and column not in shown:
                self._add(ColumnRef(dataset, column), origins)
        self._add(ColumnRef(dataset, ROWS), flow.rows)
        return dataset_flow(dataset, flow.visible, is_open=flow.anything is not None)

    def _write(self, write: Write, flow: Flow) -> None:
        dataset = self._dataset(write.input)
        self.types |= {ColumnRef(dataset, column.name): str(column.type) for column in write.columns}
        for place in outside(write.connector, dict(write.options)):
            self.writes.append((dataset, place))
            self._add_identities(place, dataset, tuple(flow.visible))

    def _add_identities(self, to: Dataset, of: Dataset, names: Iterable[str]) -> None:
        place = to if to.is_outside else of
        self.columns[place] = tuple(dict.fromkeys((*self.columns.get(place, ()), *names)))
        self.edges += (Edge(ColumnRef(to, name), ColumnRef(of, name), EdgeKind.IDENTITY) for name in names)
        self.edges.append(Edge(ColumnRef(to, ROWS), ColumnRef(of, ROWS), EdgeKind.ROWS))

    def _add(self, column: ColumnRef, origins: Origins, text: str = "") -> None:
        ordered = sorted(origins, key=lambda origin: (origin.column, origin.kind.value))
        self.edges += (Edge(column, origin.column, origin.kind, text) for origin in ordered)


def _without_unused(edges: list[Edge], columns: Mapping[Dataset, tuple[str, ...]]) -> Iterator[Edge]:
    """Without edges to system columns that nobody shows or asks for."""
    shown = {(dataset, name.lower()) for dataset, names in columns.items() for name in names}
    wanted = edges
    while True:
        asked = {edge.input for edge in wanted}
        kept = [edge for edge in wanted if not _is_unused(edge.output, shown, asked)]
        if len(kept) == len(wanted):
            return iter(kept)
        wanted = kept


def _is_unused(column: ColumnRef, shown: set[tuple[Dataset, str]], asked: set[ColumnRef]) -> bool:
    return column.column in SYSTEM and (column.dataset, column.column.lower()) not in shown and column not in asked
