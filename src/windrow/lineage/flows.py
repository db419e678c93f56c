"""What flows from one stage to the next: the origins of every column, and of the rows themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from windrow.lineage.graph import ROWS, ColumnRef, Dataset, EdgeKind
from windrow.lineage.origins import NOTHING, Columns, Origin, Origins
from windrow.model.expr import Asked
from windrow.model.system import SYSTEM_COLUMNS

SYSTEM = tuple(column.name for column in SYSTEM_COLUMNS)


@dataclass(frozen=True)
class Flow:
    """``visible`` are the columns in their order, by the name that is shown; ``hidden`` those that travel beside them, in lower case.

    ``texts`` are the expressions of visible columns, ``asked`` the subqueries behind the planner's columns; ``anything`` is set where a
    source does not say what it has.
    """

    visible: Mapping[str, Origins]
    hidden: Mapping[str, Origins]
    rows: Origins
    texts: Mapping[str, str] = field(default_factory=dict)
    anything: ColumnRef | None = None
    asked: Mapping[str, Asked] = field(default_factory=dict)

    def columns(self, slots: Mapping[str, Origins] | None = None) -> Columns:
        named = {**self.hidden, **{name.lower(): origins for name, origins in self.visible.items()}}
        return Columns(named, slots or {}, self.anything)

    def prefixed(self, prefix: str | None) -> Flow:
        """As one side of a join: every column under a name of that side."""
        if prefix is None:
            return self
        named = {f"{prefix}.{name}".lower(): origins for name, origins in {**self.hidden, **self.visible}.items()}
        return Flow({}, named, self.rows)

    def with_rows(self, *more: Origins) -> Flow:
        return replace(self, rows=self.rows.union(*more))


def dataset_flow(dataset: Dataset, columns: Iterable[str], *, is_open: bool = False) -> Flow:
    """The columns of a dataset as what reads it sees them: each is its own origin."""
    own = {name: _itself(dataset, name) for name in columns}
    system = {name: _itself(dataset, name) for name in SYSTEM}
    rows = frozenset({Origin(ColumnRef(dataset, ROWS), EdgeKind.ROWS)})
    return Flow(own, system, rows, anything=ColumnRef(dataset, ROWS) if is_open else None)


def merged(flows: Iterable[Mapping[str, Origins]]) -> dict[str, Origins]:
    """Origins by name, of several flows together."""
    found: dict[str, Origins] = {}
    for flow in flows:
        for name, origins in flow.items():
            found[name] = found.get(name, NOTHING) | origins
    return found


def _itself(dataset: Dataset, name: str) -> Origins:
    return frozenset({Origin(ColumnRef(dataset, name), EdgeKind.IDENTITY)})
