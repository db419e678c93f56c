"""A Grafana board for the jobs of a file: how the jobs do, a row for each statement, and the file's own metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from windrow.model.notes import Metric, MetricType
from windrow.observe import instruments as of
from windrow.observe.instruments import JOB, Instrument
from windrow.observe.row_metrics import exposed_name

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_JOB = f'{JOB}=~"$job"'
# Grafana's grid is 24 units wide.
_WIDTH, _HEIGHT, _ACROSS = 8, 8, 3


@dataclass(frozen=True)
class Panel:
    """``lines`` are (query, legend)."""

    title: str
    lines: tuple[tuple[str, str], ...]
    unit: str = "short"
    kind: str = "timeseries"


@dataclass
class _Board:
    panels: list[dict[str, Any]] = field(default_factory=list)
    _row: int = 0

    def add(self, title: str, panels: Sequence[Panel]) -> None:
        """A row with its panels below."""
        self.panels.append(self._placed({"type": "row", "title": title, "collapsed": False, "panels": []}, 0, 24, 1))
        self._row += 1
        for number, panel in enumerate(panels):
            self.panels.append(self._placed(_panel_json(panel), (number % _ACROSS) * _WIDTH, _WIDTH, _HEIGHT, number // _ACROSS))
        self._row += _HEIGHT * -(-len(panels) // _ACROSS)

    def _placed(self, panel: dict[str, Any], x: int, width: int, height: int, line: int = 0) -> dict[str, Any]:
        return {"id": len(self.panels) + 1, **panel, "gridPos": {"x": x, "y": self._row + line * _HEIGHT, "w": width, "h": height}}


def dashboard(title: str, jobs: Sequence[str], statements: Sequence[str], metrics: Iterable[tuple[str, Metric]] = ()) -> dict[str, Any]:
    """``statements`` are those that put rows out, ``metrics`` those of annotations by statement."""
    board = _Board()
    board.add("Jobs", _overview())
    for statement in statements:
        board.add(f"Statement {statement}", _statement(statement))
    own = list(dict.fromkeys((metric.name, metric.type, metric.help) for _, metric in metrics))
    if own:
        board.add("Metrics of the file", [_metric(*each) for each in own])
    return {
        "title": f"Windrow: {title}",
        "uid": f"windrow-{sha256(title.encode()).hexdigest()[:12]}",
        "schemaVersion": 39,
        "tags": ["windrow"],
        "timezone": "utc",
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "editable": True,
        "templating": {"list": [_datasource(), _jobs(jobs)]},
        "panels": board.panels,
    }


def _overview() -> list[Panel]:
    return [
        Panel("State", ((f"{_of(of.JOB_STATE)} == 1", "{{job_name}} {{state}}"),), kind="stat"),
        Panel("Rows in a second", ((f"sum by ({JOB}, source) (rate({_of(of.ROWS_IN)}[1m]))", "{{job_name}} {{source}}"),), "rowsps"),
        Panel("Watermark lag", ((_of(of.JOB_LAG), "{{job_name}}"),), "s"),
        Panel("Rows that wait to be read", ((f"sum by ({JOB}, source) ({_of(of.BACKLOG)})", "{{job_name}} {{source}}"),)),
        Panel("Seconds of a batch, 95 %", ((_quantile(of.BATCH_SECONDS, 0.95), "{{job_name}}"),), "s"),
        Panel("Share of phases", ((f"sum by (phase) (rate({of.PHASE_SECONDS.full_name}_sum{{{_JOB}}}[5m]))", "{{phase}}"),), "percentunit"),
        Panel("Dead letters in a second", ((f"sum by (by, code) (rate({_of(of.DEAD)}[5m]))", "{{by}} {{code}}"),)),
        Panel("Outputs, seconds a batch", ((_mean(of.SINK_SECONDS, "sink"), "{{sink}}"),), "s"),
        Panel(
            "Systems that do not answer, stale tables",
            ((f"{_of(of.BREAKER)} == 1", "{{system}}"), (f"{_of(of.TABLE_STALE)} == 1", "{{table}}")),
        ),
        Panel(
            "Memory",
            ((_of(of.HEAP), "{{job_name}} heap"), (_of(of.JVM_RESIDENT), "{{job_name}} Java"), ("process_resident_memory_bytes", "Python")),
            "bytes",
        ),
    ]


def _statement(name: str) -> list[Panel]:
    own = f'statement="{name}"'
    rows = tuple(
        (f"sum by ({JOB}) (rate({_of(one, own)}[1m]))", word)
        for one, word in ((of.STATEMENT_IN, "in"), (of.FILTERED, "filtered"), (of.EMITTED, "out"))
    )
    late = f'by="{name}"'
    return [
        Panel(f"{name}: rows in a second", rows, "rowsps"),
        Panel(f"{name}: late rows in a second", ((f"sum by (outcome) (rate({_of(of.LATE, late)}[5m]))", "{{outcome}}"),)),
        Panel(f"{name}: event to output, 95 %", ((_quantile(of.END_TO_END, 0.95, own), "{{job_name}}"),), "s"),
        Panel(
            f"{name}: windows",
            tuple(
                (f"rate({_of(one, own)}[5m])", word)
                for one, word in ((of.CREATED, "created"), (of.COMPLETED, "closed"), (of.PRUNED, "let go"))
            ),
        ),
        Panel(f"{name}: windows held", ((_of(of.OPEN, own), "held"),)),
        Panel(f"{name}: state", ((_of(of.HOT, own), "driver"), (_of(of.WARM, own), "executors")), "bytes"),
    ]


def _metric(name: str, kind: MetricType, text: str) -> Panel:
    exposed = exposed_name(name, kind)
    title = text or name
    if kind is MetricType.COUNTER:
        return Panel(title, ((f"rate({exposed}{{{_JOB}}}[5m])", "__auto"),))
    if kind is MetricType.GAUGE:
        return Panel(title, ((f"{exposed}{{{_JOB}}}", "__auto"),))
    if kind is MetricType.HISTOGRAM:
        lines = (
            (f"histogram_quantile({share}, sum by (le) (rate({exposed}_bucket{{{_JOB}}}[5m])))", f"{share:.0%}")
            for share in (0.5, 0.95, 0.99)
        )
        return Panel(title, tuple(lines))
    return Panel(title, ((f"rate({exposed}_sum{{{_JOB}}}[5m]) / rate({exposed}_count{{{_JOB}}}[5m])", "mean"),))


def _of(instrument: Instrument, more: str = "") -> str:
    return f"{instrument.full_name}{{{_JOB}{',' + more if more else ''}}}"


def _mean(instrument: Instrument, by: str) -> str:
    total, count = (f"sum by ({by}) (rate({instrument.full_name}_{part}{{{_JOB}}}[5m]))" for part in ("sum", "count"))
    return f"{total} / {count}"


def _quantile(instrument: Instrument, share: float, more: str = "") -> str:
    selected = f"{{{_JOB}{',' + more if more else ''}}}"
    return f"histogram_quantile({share}, sum by ({JOB}, le) (rate({instrument.full_name}_bucket{selected}[5m])))"


def _panel_json(panel: Panel) -> dict[str, Any]:
    targets = [
        {"datasource": _SOURCE, "expr": query, "legendFormat": legend, "refId": chr(ord("A") + number)}
        for number, (query, legend) in enumerate(panel.lines)
    ]
    defaults = {"unit": panel.unit, "custom": {"fillOpacity": 10}} if panel.kind == "timeseries" else {"unit": panel.unit}
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}


def _jobs(jobs: Sequence[str]) -> dict[str, Any]:
    options = [{"text": name, "value": name, "selected": True} for name in jobs]
    return {
        "name": "job",
        "type": "custom",
        "label": "Job",
        "query": ",".join(jobs),
        "multi": True,
        "includeAll": True,
        "current": {"text": list(jobs), "value": list(jobs)},
        "options": options,
    }
