"""Prometheus rules for the jobs of a file: what is worth waking somebody for, and the file's own alerts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from windrow.model.notes import Alert, Metric
from windrow.observe import instruments as of
from windrow.observe.instruments import JOB, Instrument
from windrow.observe.promql import Known, promql

EMERGENCY, CRITICAL, WARNING, INFO = "emergency", "critical", "warning", "info"
_RUNBOOK = "docs/monitoring.md#alerts"
_THIS = "{{ $labels.job_name }}"
# Stands in a condition where the series of the file's jobs are selected.
_SELECTED = "{$}"


@dataclass(frozen=True)
class Rule:
    """``hold`` is how long the condition must be so."""

    name: str
    condition: str
    level: str
    summary: str
    what_to_do: str
    hold: str = "0m"


def _now(instrument: Instrument, more: str = "") -> str:
    return f"{instrument.full_name}{{${',' + more if more else ''}}}"


def _sum(inner: str) -> str:
    return f"sum by ({JOB}) ({inner})"


def _change(how: str, instrument: Instrument, within: str, offset: str = "") -> str:
    """How much a counter, or a gauge by ``deriv``, has changed, for each job."""
    return _sum(f"{how}({_now(instrument)}[{within}]{offset})")


def _seconds(instrument: Instrument, by: str = JOB) -> str:
    """Seconds that a histogram has taken in each second, of the last ten minutes."""
    return f"sum by ({by}) (rate({instrument.full_name}_sum{_SELECTED}[10m]))"


def _also(*conditions: str) -> str:
    return f" and on ({JOB}) ".join(conditions)


def _held(offset: str = "") -> str:
    return f"({_sum(_now(of.HOT) + offset)} or {_sum(_now(of.WARM) + offset)})"


def standing(stalled: float = 120) -> tuple[Rule, ...]:
    """The rules of every job. ``stalled`` is how many seconds without a commit are too many."""
    return (*_job_rules(stalled), *_time_rules(), *_row_rules(), *_file_rules(), *_state_rules(), *_outside_rules(), *_trace_rules())


def _job_rules(stalled: float) -> Iterable[Rule]:
    failed = 'state="failed"'
    yield Rule(
        "WindrowJobFailed",
        f"{_now(of.JOB_STATE, failed)} == 1",
        CRITICAL,
        f"job {_THIS} failed",
        "read its log; the same command goes on from the last batch",
    )
    yield Rule(
        "WindrowRestartLoop",
        f"changes({_now(of.STARTED)}[15m]) > 3",
        CRITICAL,
        f"job {_THIS} was started more than three times in 15 minutes",
        "stop restarting it, and read why it ends",
    )
    yield Rule(
        "WindrowLedgerUnbalanced",
        f"{_now(of.BALANCED)} == 0",
        CRITICAL,
        f"rows of job {_THIS} are not all accounted for",
        "a fault of Windrow: keep the state folder and report it",
    )
    waiting = f"({_sum(_now(of.BACKLOG))} > 0 or {_sum(_now(of.BACKLOG_FILES))} > 0)"
    yield Rule(
        "WindrowNoProgress",
        f"({_also(waiting, f'time() - {_now(of.LAST_COMMIT)} > {stalled:g}')}) or {_now(of.BATCH_RUNNING)} > {stalled:g}",
        CRITICAL,
        f"job {_THIS} has committed no batch for too long",
        "/health/ready says what it waits for",
        "1m",
    )


def _time_rules() -> Iterable[Rule]:
    rows = _change("increase", of.ROWS_IN, "5m")
    yield Rule(
        "WindrowWatermarkStalled",
        _also(f"{rows} > 0", f"{_change('increase', of.ADVANCED, '5m')} == 0", f"{_now(of.JOB_LAG)} > 0"),
        WARNING,
        f"rows come in, and the watermark of job {_THIS} stands still",
        "the partition with the greatest windrow_watermark_lag_seconds holds it: set 'watermark.idle_timeout', or send to it",
        "5m",
    )
    yield Rule(
        "WindrowFallingBehind",
        _also(f"{_seconds(of.BATCH_SECONDS)} > 0.9", f"{_change('deriv', of.BACKLOG, '10m')} > 0"),
        WARNING,
        f"job {_THIS} is busy all the time, and more rows wait",
        "windrow_batch_phase_seconds says which phase takes the time",
        "10m",
    )
    rate = _change("rate", of.ROWS_IN, "5m")
    yield Rule(
        "WindrowThroughputDrop",
        f"{rate} < 0.5 * quantile_over_time(0.5, {rate}[1h:5m] offset 1d)",
        WARNING,
        f"job {_THIS} gets less than half of the rows of yesterday at this hour",
        "look at what produces them",
        "2m",
    )


def _row_rules() -> Iterable[Rule]:
    yield Rule(
        "WindrowDeadLetterRatio",
        f"{_change('increase', of.DEAD, '5m')} > 0.05 * {_change('increase', of.ROWS_IN, '5m')}",
        WARNING,
        f"more than 5 % of the rows of job {_THIS} are set aside",
        "windrow dead-letters shows them with the reason",
        "1m",
    )
    yield Rule(
        "WindrowLateRatio",
        f"{_change('increase', of.LATE, '10m')} > 0.01 * {_change('increase', of.ROWS_IN, '10m')}",
        WARNING,
        f"more than 1 % of the rows of job {_THIS} come late",
        "a longer 'watermark.delay' takes more of them",
        "10m",
    )


def _file_rules() -> Iterable[Rule]:
    yield Rule(
        "WindrowFilesUnread",
        f"sum by ({JOB}, source) (deriv({_now(of.UNREAD)}[15m])) > 0",
        WARNING,
        f"files of source {{{{ $labels.source }}}} of job {_THIS} could not be read, and it goes on without them",
        "the closing report, /status and windrow events name them; mend or remove them",
    )


def _state_rules() -> Iterable[Rule]:
    used = _now(of.LIMIT_USED)
    for low, high, level in ((0.7, 0.85, WARNING), (0.85, 0.95, CRITICAL), (0.95, None, EMERGENCY)):
        yield Rule(
            "WindrowStateNearLimit",
            f"{used} > {low}" + (f" <= {high}" if high else ""),
            level,
            f"the state of job {_THIS} has used more than {low:.0%} of {{{{ $labels.limit }}}}, where it stops",
            "hold less: a shorter ALLOWED_LATENESS, a 'state.ttl', fewer groups; or raise the limit with --set",
        )
    rows, before = _change("rate", of.ROWS_IN, "1h"), _change("rate", of.ROWS_IN, "1h", " offset 1h")
    yield Rule(
        "WindrowStateGrowth",
        _also(f"{_held()} > 1.1 * {_held(' offset 1h')}", f"{rows} <= 1.1 * {before}"),
        WARNING,
        f"the state of job {_THIS} grows by more than 10 % an hour, and its input does not",
        "groups without a window need 'state.ttl'; a stalled watermark closes nothing",
        "30m",
    )


def _outside_rules() -> Iterable[Rule]:
    yield Rule(
        "WindrowSinkSlow",
        f"{_seconds(of.SINK_SECONDS, f'{JOB}, sink')} > on ({JOB}) group_left () (0.6 * {_seconds(of.BATCH_SECONDS)})",
        WARNING,
        f"output {{{{ $labels.sink }}}} takes more than 60 % of the time of job {_THIS}",
        "reading waits for it",
        "10m",
    )
    yield Rule(
        "WindrowSystemDown",
        f"{_now(of.BREAKER)} == 1",
        WARNING,
        f"{{{{ $labels.system }}}} does not answer job {_THIS}",
        "/health/connections has the error",
        "2m",
    )
    yield Rule(
        "WindrowTableStale",
        f"{_now(of.TABLE_STALE)} == 1",
        WARNING,
        f"table {{{{ $labels.table }}}} of job {_THIS} was not refreshed",
        "/health/tables has the reason; what was loaded before is in force",
    )


def _trace_rules() -> Iterable[Rule]:
    asked, had = _change("increase", of.TRACED_ROWS, "10m"), _change("increase", of.WITH_CONTEXT, "10m")
    yield Rule(
        "WindrowTraceLoss",
        _also(f"{had} > 0", f"{had} < 0.95 * {asked}"),
        INFO,
        f"more than 5 % of the rows of job {_THIS} come without a trace context, and others with one",
        "a producer does not send the header traceparent; 'trace.context' = 'off' of a source looks at none of its contexts",
        "10m",
    )


def _gone(job: str) -> Rule:
    """No series tells that a process is not there, so each job is asked for by its name."""
    selected = f'{of.UPTIME.full_name}{{{JOB}="{_quoted(job)}"}}'
    what_to_do = "is its process there, and can Prometheus reach it?"
    return Rule("WindrowJobGone", f"absent({selected})", CRITICAL, f"job {job} does not answer", what_to_do, "5m")


def rule_groups(jobs: Sequence[str], metrics: Iterable[Metric] = (), alerts: Iterable[Alert] = (), stalled: float = 120) -> dict[str, Any]:
    """What a file of rules holds, for the jobs of one SQL file."""
    matcher = _matcher(jobs)
    rules = [*standing(stalled), *(_gone(job) for job in jobs)]
    groups = [{"name": f"windrow {', '.join(jobs)}", "rules": [_rule_json(rule, matcher) for rule in rules]}]
    known = Known({metric.name: metric.type for metric in metrics})
    own = [_alert_json(alert, promql(alert.condition, known, matcher)) for alert in alerts if alert.condition is not None]
    if own:
        groups.append({"name": f"alerts of {', '.join(jobs)}", "rules": own})
    return {"groups": groups}


def _matcher(jobs: Sequence[str]) -> str:
    """
    >>> _matcher(["a", "b.c"]), _matcher(["a"])
    ('job_name=~"a|b\\\\\\\\.c"', 'job_name="a"')
    """
    if len(jobs) == 1:
        return f'{JOB}="{_quoted(jobs[0])}"'
    special = str.maketrans({sign: f"\\\\{sign}" for sign in ".+*?()[]{}|^$"})
    return f'{JOB}=~"{"|".join(_quoted(job).translate(special) for job in jobs)}"'


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _rule_json(rule: Rule, matcher: str) -> dict[str, Any]:
    return {
        "alert": rule.name,
        "expr": rule.condition.replace("{$,", f"{{{matcher},").replace("{$}", f"{{{matcher}}}"),
        "for": rule.hold,
        "labels": {"severity": rule.level},
        "annotations": {"summary": rule.summary, "description": rule.what_to_do, "runbook": _RUNBOOK},
    }


def _alert_json(alert: Alert, expr: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": expr,
        "for": f"{alert.hold // 1_000_000}s" if alert.hold else "0m",
        "labels": {"severity": alert.level},
        "annotations": {"summary": alert.text or f"{alert.name} of job {{{{ $labels.{JOB} }}}}"},
    }
