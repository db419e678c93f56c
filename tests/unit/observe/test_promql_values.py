"""The server asks rules as Prometheus does: what an expression is, compared with promtool over the same series."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.observe.test_rules import ABSENT, BROKEN, LIMITS, _groups
from windrow.observe.promql_text import read_promql, selectors
from windrow.observe.promql_values import value_of
from windrow.observe.series import Labels, SeriesStore, read_exposition

MINUTE = 60.0
# What stands at the very edge of a range is in it or not by the version of Prometheus: with this, nothing does.
ODD = 59


def values_of(notation: str) -> list[float | None]:
    """As promtool writes series: ``5x2`` is 5 5 5, ``0+10x2`` is 0 10 20, ``_x2`` is nothing twice.

    >>> values_of("0+10x2 7x1 _x1")
    [0.0, 10.0, 20.0, 7.0, 7.0, None]
    """
    found: list[float | None] = []
    for part in notation.split():
        start, _, times = part.partition("x")
        if start == "_":
            found += [None] * int(times)
            continue
        first, _, step = start.partition("+")
        found += [float(first) + n * float(step or 0) for n in range(int(times) + 1)]
    return found


def labels_of(series: str) -> tuple[str, Labels]:
    selector: Any = read_promql(series)
    return selector.name, tuple(sorted((one.label, one.value) for one in selector.matchers))


def stored(series: dict[str, str], expr: str, until: float = math.inf, interval: float = MINUTE) -> SeriesStore:
    """What a server keeps that asks so often."""
    keep: dict[str, float] = {}
    for name, back in selectors(read_promql(expr)):
        keep[name] = max(back, keep.get(name, 0.0))
    store = SeriesStore(keep)
    known = [(*labels_of(one), values_of(notation)) for one, notation in series.items()]
    for number in range(max(len(values) for _, _, values in known)):
        at = number * interval
        if at > until:
            break
        told = ((name, labels, values[number]) for name, labels, values in known if number < len(values))
        store.take(at, [(name, labels, value) for name, labels, value in told if value is not None])
    return store


def _times(name: str) -> tuple[float, float]:
    """When the situation of a rule has lasted, and when it is over; not at the minute itself."""
    at, over = (1500, 2200) if name == "WindrowThroughputDrop" else (190, 420)
    return at * MINUTE + 7, over * MINUTE + 7


RULES = {(rule["alert"], rule["labels"]["severity"]): rule for group in _groups()["groups"] for rule in group["rules"]}
LIMIT = 'windrow_state_limit_used_ratio{job_name="shop",limit="state.max_bytes"}'
SITUATIONS = [
    *((key, BROKEN[key[0]][0]) for key in RULES if key[0] in BROKEN),
    ((ABSENT, "critical"), {'windrow_job_uptime_seconds{job_name="shop"}': "_x200 1x400"}),
    *(((LIMITS, level), {LIMIT: f"{used}x200 0.1x400"}) for level, used in (("warning", 0.8), ("critical", 0.9), ("emergency", 0.99))),
]


@pytest.mark.parametrize(("key", "series"), SITUATIONS, ids=lambda one: "-".join(one) if isinstance(one, tuple) else "")
def test_every_rule_holds_in_its_situation_and_not_after(key: tuple[str, str], series: dict[str, str]) -> None:
    expr, (at, over) = RULES[key]["expr"], _times(key[0])
    held = value_of(read_promql(expr), stored(series, expr, at), at)
    assert [dict(labels)["job_name"] for labels in held] == ["shop"]
    assert value_of(read_promql(expr), stored(series, expr, over), over) == {}


def test_every_rule_has_its_situation() -> None:
    assert {key for key, _ in SITUATIONS} == set(RULES)


EXPRESSIONS = [
    "rate(c[5m])",
    "increase(c[7m])",
    "sum by (a) (rate(c[5m]))",
    "sum by (a) (rate(c[5m])) / sum by (a) (g)",
    "max by (a) (g) > 20",
    "g - 10 < 40",
    "deriv(g[10m])",
    "changes(g[10m])",
    "quantile_over_time(0.5, sum by (a) (rate(c[5m]))[30m:5m] offset 20m)",
    "sum by (a) (g offset 5m) or sum by (a) (c)",
    "g > on (a) group_left () (0.6 * sum by (a) (g))",
    "sum by (a) (g) > 10 and on (a) sum by (a) (c) > 100",
    "histogram_quantile(0.9, sum by (a, le) (rate(h_bucket[10m])))",
    "absent(nothing{a='x'})".replace("'", '"'),
    'c{b=~"x|y", a!="q"} % 7',
    "-g + 2 * 3",
    "time() - g > 0",
]


def _made_up(seed: int) -> dict[str, str]:
    """Counters that begin again, gauges that jump, buckets, and gaps."""
    random_, series = random.Random(seed), {}
    for a in ("p", "q"):
        for b in ("x", "y"):
            total, counted, measured = 0, [], []
            for _ in range(120):
                total = 0 if random_.random() < 0.03 else total + random_.randrange(0, 40)
                counted.append("_x1" if random_.random() < 0.05 else f"{total}x0")
                measured.append(f"{random_.randrange(1, 60)}x0")
            series[f'c{{a="{a}",b="{b}"}}'] = " ".join(counted)
            series[f'g{{a="{a}",b="{b}"}}'] = " ".join(measured)
        for n, le in enumerate(("0.1", "1", "10", "+Inf")):
            series[f'h_bucket{{a="{a}",le="{le}"}}'] = f"0+{(n + 1) * random_.randrange(5, 9)}x120"
    return series


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_prometheus(seed: int, tmp_path: Path) -> None:
    series, at = _made_up(seed), 100 * MINUTE + 7
    expected = []
    for expr in EXPRESSIONS:
        found = value_of(read_promql(expr), stored(series, expr, at, ODD), at)
        # Prometheus tells floats apart to the last bit.
        samples = [{"labels": _shown(labels), "value": math.floor(value * 1000 + 0.5) / 1000} for labels, value in found.items()]
        expected.append({"expr": f"round({expr}, 0.001)", "eval_time": f"{int(at)}s", "exp_samples": samples})
    test = {
        "interval": f"{ODD}s",
        "input_series": [{"series": one, "values": _without_counts(notation)} for one, notation in series.items()],
        "promql_expr_test": expected,
    }
    (tmp_path / "test.yml").write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", str(tmp_path / "test.yml")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _shown(labels: Labels) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels) + "}"


def _without_counts(notation: str) -> str:
    return notation.replace("_x1", "_").replace("x0", "")


def test_a_series_that_a_job_no_longer_tells_is_gone_at_once() -> None:
    store = SeriesStore({"g": 600.0})
    store.take(0.0, [("g", (), 1.0)])
    assert value_of(read_promql("g == 1"), store, 1.0) == {(): 1.0}
    store.take(15.0, [])
    assert value_of(read_promql("g == 1"), store, 16.0) == {}
    assert value_of(read_promql("absent(g)"), store, 16.0) == {(): 1.0}


def test_memory_is_bounded_however_far_back_a_rule_looks() -> None:
    store = SeriesStore({"day": 90_000.0, "minutes": 600.0})
    for n in range(20_000):
        store.take(n * 15.0, [("day", (), float(n)), ("minutes", (), float(n))])
    assert store.points < 2200
    at = 19_999 * 15.0
    # A row in 15 seconds, yesterday as now: what was thinned out is still the same rate.
    for expr in ("rate(day[5m])", "rate(day[5m] offset 1d)", "rate(minutes[5m])"):
        assert value_of(read_promql(expr), store, at)[()] == pytest.approx(1 / 15, rel=0.01), expr


def test_only_what_rules_ask_for_is_read() -> None:
    text = '# HELP a x\n# TYPE a counter\na_total{p="1 2"} 3.0\na_created{p="1 2"} 9.0\nb{q="a_total"} 4\n'
    assert list(read_exposition(text, {"a_total": 1.0})) == [("a_total", (("p", "1 2"),), 3.0)]
