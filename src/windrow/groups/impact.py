"""Who is affected by a change, in the file and in those that read what it writes, and how badly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from windrow.groups.differences import Difference, differences
from windrow.groups.effects import Effect, Impact
from windrow.groups.member import Member
from windrow.groups.verdicts import Verdict, type_change
from windrow.lineage import ROWS, ColumnRef, Dataset, Edge, Lineage
from windrow.model.expr import Column, Expr, walk
from windrow.model.notes import Alert, Metric
from windrow.model.types import UNKNOWN, DataType
from windrow.plan.explain_metrics import alert_json, metric_json


def impact(old: Member, new: Member, others: Sequence[Member] = (), broken: Mapping[str, str] | None = None) -> Impact:
    """``others`` are files that may read what this one writes. ``broken`` are statements of the file that can no longer be made, each with
    the reason.
    """
    found = differences(old, new)
    # What can no longer be made is affected, and so is what it writes; neither was changed itself.
    gone = {Dataset(new.file, name) for name in broken or {}} | {one.place for one in old.writes if one.statement in (broken or {})}
    changes = [change for change in found if change.column.dataset not in gone]
    spread = _Spread(old, new, others)
    for change in changes:
        spread.start(change)
    for name, text in (broken or {}).items():
        spread.start(Difference(ColumnRef(Dataset(new.file, name), ROWS), Verdict.BREAKS, text, Verdict.BREAKS))
    spread.run()
    effects = [*spread.effects(changes), *_measured(old, new, others, spread)]
    ordered = sorted(effects, key=lambda effect: (-effect.verdict, effect.file != new.file))
    return Impact(new.file, tuple(changes), tuple(ordered))


@dataclass(frozen=True)
class _Found:
    """What has come to a column. ``within`` is what it means further on in the file that was changed."""

    column: ColumnRef
    verdict: Verdict
    within: Verdict
    because: str


@dataclass
class _Spread:
    """Follows edges from what has changed, always with the worst that comes to a column, and keeps the change that brought it."""

    old: Member
    new: Member
    others: Sequence[Member]
    reached: dict[ColumnRef, tuple[Verdict, str]] = field(default_factory=dict)
    _open: list[_Found] = field(default_factory=list)
    _after: dict[ColumnRef, list[Edge]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        members = (self.old, self.new, *self.others)
        whole = Lineage.together(member.lineage for member in members)
        for edge in whole.edges:
            self._after.setdefault(edge.input, []).append(edge)
        self._columns = whole.columns

    def start(self, change: Difference) -> None:
        self._take(_Found(change.column, change.verdict, change.within, f"{change.column} {change.text}"))

    def _take(self, found: _Found) -> None:
        if found.verdict > self.reached.get(found.column, (Verdict.NONE, ""))[0]:
            self.reached[found.column] = found.verdict, found.because
            self._open.append(found)

    def run(self) -> None:
        while self._open:
            found = self._open.pop()
            for edge in self._after.get(found.column, ()):
                if self._is_unproved(edge, found):
                    self._take(replace(found, column=edge.output, verdict=Verdict.BREAKS, within=Verdict.BREAKS))
                else:
                    self._take(replace(found, column=edge.output, verdict=self._passed_on(edge, found)))
            if found.column.column == ROWS:
                for name in self._columns.get(found.column.dataset, ()):
                    # Which rows there are is a matter of every column of them.
                    self._take(replace(found, column=ColumnRef(found.column.dataset, name)))

    def _is_unproved(self, edge: Edge, found: _Found) -> bool:
        """Whether a column is computed from one of another type, and nobody knows its own before it runs."""
        is_of_file = edge.input.dataset.namespace == edge.output.dataset.namespace == self.new.file
        is_typed = found.verdict > Verdict.VALUES and edge.kind.is_direct and edge.output.column != ROWS
        return is_of_file and is_typed and self.new.types.get(edge.output, UNKNOWN) == UNKNOWN

    def _passed_on(self, edge: Edge, found: _Found) -> Verdict:
        """What a change of the input of an edge is for its output."""
        start, end = edge.input.dataset, edge.output.dataset
        if end.is_outside:
            return found.verdict
        if start.is_outside:
            return self._as_read(edge, found.verdict)
        if end.namespace == self.new.file:
            return found.within
        return Verdict.BREAKS if found.verdict is Verdict.BREAKS else Verdict.VALUES

    def _as_read(self, edge: Edge, verdict: Verdict) -> Verdict:
        """Another file has said of what type it reads a column."""
        if verdict is not Verdict.WIDENS:
            return verdict
        reader = next((other for other in self.others if other.file == edge.output.dataset.namespace), None)
        declared = UNKNOWN if reader is None else reader.types.get(edge.output, UNKNOWN)
        written = self._written(edge.input)
        fits = UNKNOWN not in (declared, written) and type_change(written, declared) in (Verdict.NONE, Verdict.WIDENS)
        return Verdict.VALUES if fits else Verdict.WIDENS

    def _written(self, column: ColumnRef) -> DataType:
        statements = (access.statement for access in self.new.writes if access.place == column.dataset)
        return next((self.new.types.get(ColumnRef(Dataset(self.new.file, name), column.column), UNKNOWN) for name in statements), UNKNOWN)

    def effects(self, changes: Iterable[Difference]) -> Iterator[Effect]:
        """Those who read something that has changed. What was changed itself is no effect, unless it is outside: anybody may read that."""
        own = {change.column for change in changes if not change.column.dataset.is_outside}
        changed = {column.dataset for column in own}
        by_dataset: dict[Dataset, dict[str, tuple[Verdict, str]]] = {}
        for column, found in self.reached.items():
            is_own = column in own or (column.dataset in changed and ColumnRef(column.dataset, ROWS) in own)
            if not is_own:
                by_dataset.setdefault(column.dataset, {})[column.column] = found
        for dataset, columns in by_dataset.items():
            verdict, because = max(columns.values(), key=lambda found: found[0])
            named = {} if ROWS in columns else {name: each for name, (each, _) in columns.items() if not name.startswith("_")}
            member = self._member(dataset)
            owner = None if member is None else member.about("owner", dataset.name)
            kind = "output" if dataset.is_outside else "statement"
            yield Effect(kind, "" if member is None else member.file, _name(dataset), owner, verdict, named, because)

    def _member(self, dataset: Dataset) -> Member | None:
        """Whose a statement is; what is outside is its writer's."""
        if dataset.is_outside:
            return next((each for each in (self.new, *self.others) if any(one.place == dataset for one in each.writes)), None)
        return next((each for each in (self.new, *self.others) if each.file == dataset.namespace), None)

    def worst(self, dataset: Dataset, names: Iterable[str]) -> tuple[Verdict, str]:
        """Of these columns of a dataset, and of its rows."""
        wanted = {name.lower() for name in names} | {ROWS}
        found = [each for column, each in self.reached.items() if column.dataset == dataset and column.column.lower() in wanted]
        return max(found, key=lambda each: each[0], default=(Verdict.NONE, ""))


def _name(dataset: Dataset) -> str:
    return str(dataset) if dataset.is_outside else dataset.name


def _measured(old: Member, new: Member, others: Sequence[Member], spread: _Spread) -> Iterator[Effect]:
    """Metrics of annotations, and the alerts that name them."""
    for member in (new, *others):
        known: dict[str, tuple[Verdict, str]] = {}
        for statement, metric in member.metrics:
            known[metric.name] = spread.worst(Dataset(member.file, statement), _columns_of(metric))
        texts: dict[str, str] = {}
        if member is new:
            for name, found in _metric_changes(old, new).items():
                known[name] = max(known.get(name, (Verdict.NONE, "")), found, key=lambda each: each[0])
            texts = _alert_changes(old, new)
        for name, (verdict, because) in known.items():
            if verdict is not Verdict.NONE:
                yield Effect("metric", member.file, name, member.about("owner"), verdict, {}, because)
        for alert in member.alerts:
            named = _metrics_of(alert, known)
            verdict, because = max((known[name] for name in named), key=lambda each: each[0], default=(Verdict.NONE, ""))
            if alert.name in texts:
                verdict, because = max(verdict, Verdict.VALUES), texts.pop(alert.name)
            if verdict is not Verdict.NONE:
                yield Effect("alert", member.file, alert.name, member.about("owner"), verdict, {}, because)
        for name, text in texts.items():
            yield Effect("alert", member.file, name, member.about("owner"), Verdict.BREAKS, {}, text)


def _columns_of(metric: Metric) -> set[str]:
    return {*metric.labels, *([metric.field] if metric.field else []), *_named_in(metric.condition)}


def _named_in(expr: Expr | None) -> set[str]:
    return set() if expr is None else {node.name for node in walk(expr) if isinstance(node, Column)}


def _metrics_of(alert: Alert, known: Mapping[str, object]) -> list[str]:
    """The metrics that a condition names, by what annotations or Prometheus call them."""
    wanted = {
        name.lower().removesuffix(suffix) for name in _named_in(alert.condition) for suffix in ("", "_total", "_count", "_sum", "_bucket")
    }
    return [name for name in known if name.lower() in wanted or name.lower().removesuffix("_total") in wanted]


def _metric_changes(old: Member, new: Member) -> dict[str, tuple[Verdict, str]]:
    was, now = ({metric.name: (statement, metric_json(metric)) for statement, metric in member.metrics} for member in (old, new))
    found: dict[str, tuple[Verdict, str]] = {}
    for name, (statement, told) in was.items():
        if name not in now:
            found[name] = Verdict.BREAKS, f"metric {name} is gone"
            continue
        other_statement, other = now[name]
        differing = [key for key in told if told[key] != other[key] and key != "help"]
        if statement != other_statement:
            differing.append("statement")
        if differing:
            # Another type, other labels or buckets make other series of it.
            is_same_series = set(differing) <= {"condition", "field", "sample_rate", "statement"}
            found[name] = Verdict.VALUES if is_same_series else Verdict.BREAKS, f"metric {name} has another {', '.join(differing)}"
    return found


def _alert_changes(old: Member, new: Member) -> dict[str, str]:
    was, now = ({alert.name: alert_json(alert) for alert in member.alerts} for member in (old, new))
    gone = {name: f"alert {name} is gone" for name in was if name not in now}
    return gone | {
        name: f"alert {name} has another condition, duration, level or text" for name in was if name in now and was[name] != now[name]
    }
