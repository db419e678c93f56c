"""A job stops before it writes where more rows of a batch, or of a span of time, are bad, late or violating than its limits allow."""

from __future__ import annotations

from collections import Counter

from windrow.errors import JobError
from windrow.model.row_limits import LimitedRows, RowLimit, StreamLimits
from windrow.observe.ledger import Account
from windrow.plan.stages import Job
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.state.counters import Recent
from windrow.sql.durations import show_duration

# A span is remembered in so many pieces, however many batches it has: what leaves it leaves by the piece.
_PIECES = 60
_LONGEST_ROW = 300
# Where each is counted in what is remembered.
_PLACES = {LimitedRows.BAD: 2, LimitedRows.LATE: 3, LimitedRows.VIOLATING: 4}


def keep_to_row_limits(job: Job, run: BatchContext) -> None:
    """Judge the accounts of a batch whose outputs were not written yet, and remember them for the spans of later batches."""
    for stated in job.limits:
        ledger = run.result.ledger
        accounts = ledger.sources if stated.is_source else ledger.statements
        own = {name: account for name, account in accounts.items() if name == stated.name or name.startswith(f"{stated.name}/")}
        for name, account in own.items():
            _judge(stated, name, account, run)


def _judge(stated: StreamLimits, name: str, account: Account, run: BatchContext) -> None:
    now = run.batch.now
    rows = {kind: _rows(kind, account) for kind in LimitedRows}
    batch: Recent = (now, account.rows_in, rows[LimitedRows.BAD], rows[LimitedRows.LATE], rows[LimitedRows.VIOLATING])
    counters = run.counters.of(name)
    recent = _with(counters.recent, batch, stated.longest) if stated.longest else ()
    for kind, limit, text in stated.limits:
        counted = [batch] if limit.span is None else [each for each in recent if each[0] > now - limit.span]
        found, of = sum(each[_PLACES[kind]] for each in counted), sum(each[1] for each in counted)
        # A batch without such rows of its own is not stopped for those before it.
        if rows[kind] > 0 and limit.is_passed(found, of, stated.least):
            raise _stopped(stated, name, kind, limit, text, found, of, run)
    counters.recent = recent


def _rows(kind: LimitedRows, account: Account) -> int:
    set_aside = sum(account.dead[fate.code] + account.dropped[fate.code] for fate in kind.fates)
    match kind:
        case LimitedRows.LATE:
            return set_aside + account.late_warned
        case LimitedRows.VIOLATING:
            return set_aside + sum(account.warned.values())
        case _:
            return set_aside


def _with(recent: tuple[Recent, ...], batch: Recent, span: int) -> tuple[Recent, ...]:
    """What is remembered of the span that ends with a batch. A piece keeps the time of its first batch."""
    kept = [each for each in recent if each[0] > batch[0] - span]
    if kept and batch[0] - kept[-1][0] < span // _PIECES:
        start, *sums = kept.pop()
        rows, bad, late, violating = (one + other for one, other in zip(sums, batch[1:], strict=True))
        return (*kept, (start, rows, bad, late, violating))
    return (*kept, batch)


def _stopped(
    stated: StreamLimits, name: str, kind: LimitedRows, limit: RowLimit, text: str, found: int, of: int, run: BatchContext
) -> JobError:
    place = f"{'source' if stated.is_source else 'statement'} {name}"
    where = (
        f"batch {run.batch.batch_id}" if limit.span is None else f"the last {show_duration(limit.span)}, up to batch {run.batch.batch_id},"
    )
    share = f" ({100 * found / of:.3g}%)" if of else ""
    letters = [each for each in run.result.dead_letters if each.fate in kind.fates and name in (each.statement, each.source)]
    what = f"{place}: {found:,} of {of:,} rows{share} of {where} are {kind.words}"
    message = f"{what}, and '{kind.value}' is '{text}'; nothing of the batch was written"
    return JobError(
        "WR906",
        message + _examples(letters),
        f"correct them where they come from, or raise '{kind.value}' and run again: the state stays, and the job goes on with this batch",
    )


def _examples(letters: list[DeadLetter]) -> str:
    """How many there are for each reason, and the first of them: they were not written, so nobody can look for them."""
    if not letters:
        return ""
    counts = ", ".join(f"{code} {count:,}" for code, count in sorted(Counter(each.fate.code for each in letters).items()))
    record = letters[0].to_record()
    raw = record["raw"]
    held = record["row"] if raw is None else raw.decode("utf-8", "replace")
    shown = held if len(held) <= _LONGEST_ROW else held[: _LONGEST_ROW - 1] + "…"
    return f". In this batch: {counts}. The first, {record['message']}: {shown if shown.isprintable() else repr(shown)[1:-1]}"
