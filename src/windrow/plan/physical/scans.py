"""How the rows of a source are decoded, where they are counted, and whether they are kept for the length of a batch."""

from __future__ import annotations

from dataclasses import replace

from windrow.model.policies import LateAtSource
from windrow.model.types import NULL, UNKNOWN
from windrow.model.zone import UTC
from windrow.plan.physical.facts import RunFacts, SourceFacts
from windrow.plan.physical.spec import Choice
from windrow.plan.physical.strategies import Accounting, Cache, Scan
from windrow.plan.sharing import SharedAggregation
from windrow.plan.stages import Aggregate, FilterProject, Job, Output, Read, StreamJoin, Write

# Up to so many partitions, their greatest event times are columns of the job that aggregates.
MOST_CLOCK_COLUMNS = 8
# Types that Arrow reads of JSON as Spark does. Other numbers are rounded in other ways, other types spelled in more.
ARROW_TYPES = frozenset({"STRING", "TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP"})


def accounting_choice(read: Read, job: Job, facts: RunFacts, shared: dict[str, SharedAggregation]) -> Choice:
    if has_sole_join(read, job):
        return Choice(Accounting.IN_DRIVER, "a join is its only reader and takes all of its rows to the driver", _readers(read, job))
    counted = sink_counted_stage(job)
    if counted is not None and counted[1].name in facts.counting_sinks:
        reason = "the job only filters, projects and writes, and the sink counts the rows that it reads"
        return Choice(Accounting.WHILE_SINK_READS, reason, (counted[1].name,))
    first = _aggregation_that_accounts(read, job, facts, shared)
    if first is None:
        return Choice(Accounting.OWN_JOB, _why_not_in_aggregation(read, job, facts))
    is_shared = first.name in shared
    reason = "those who read it share one pass" if is_shared else "it has no other reader"
    return Choice(Accounting.IN_AGGREGATION, reason, _readers(read, job) if is_shared else (first.name,))


def _readers(read: Read, job: Job) -> tuple[str, ...]:
    return tuple(stage.name for stage in job.readers_of(read.name))


def _aggregation_that_accounts(read: Read, job: Job, facts: RunFacts, shared: dict[str, SharedAggregation]) -> Aggregate | None:
    """The aggregation whose pass can do the source's accounts, if its time is the source's own.

    It is the only reader, or the first of those that share what they read.
    """
    readers, partitions = job.readers_of(read.name), facts.source(read.name).partitions
    if partitions is None or partitions > MOST_CLOCK_COLUMNS or read.clock.late_rows is LateAtSource.WARN or read.constraints:
        return None
    first = readers[0] if readers else None
    if not isinstance(first, Aggregate) or first.time.on_arrival or has_own_clock(first) or first.cut is not None:
        return None
    group = shared.get(first.name)
    return first if len(readers) == (1 if group is None else len(group.members)) else None


def _why_not_in_aggregation(read: Read, job: Job, facts: RunFacts) -> str:
    readers, partitions = job.readers_of(read.name), facts.source(read.name).partitions
    first = readers[0] if readers else None
    if not isinstance(first, Aggregate):
        return "it is not read by an aggregation alone, so no pass over its rows sees all of them"
    if partitions is None or partitions > MOST_CLOCK_COLUMNS:
        return f"it has more than {MOST_CLOCK_COLUMNS} partitions, too many for a column of the aggregation each"
    if read.clock.late_rows is LateAtSource.WARN:
        return "rows behind the watermark of the source are counted, and no aggregation knows these"
    if read.constraints:
        return "rows that violate its constraints are counted by name, and no aggregation knows these"
    if first.time.on_arrival or has_own_clock(first):
        return f"{first.name} has a clock of its own"
    return "several statements read it, each in its own way"


def cache_choice(read: Read, job: Job, facts: RunFacts, accounting: Choice, is_pass_shared: bool) -> Choice:
    """``is_pass_shared``: those who read the source do share their pass, as things stand."""
    if accounting.strategy in (Accounting.IN_DRIVER, Accounting.WHILE_SINK_READS):
        return Choice(Cache.NONE, "its rows are read once")
    if accounting.strategy is Accounting.IN_AGGREGATION and (len(accounting.partners) == 1 or is_pass_shared):
        return Choice(Cache.NONE, "its rows are read once")
    if len(job.readers_of(read.name)) > 1:
        return Choice(Cache.BATCH, "several passes read its rows")
    if facts.source(read.name).is_text:
        return Choice(Cache.BATCH, "the accounts and the statement read its rows, and to decode them twice costs more")
    return Choice(Cache.NONE, "to read its rows again costs less than to keep them")


def scan_choice(read: Read, job: Job, facts: RunFacts, is_read_in_driver_pass: bool) -> Choice:
    """``is_read_in_driver_pass``: an aggregation with its state in the driver reads the source and does its accounts."""
    source = facts.source(read.name)
    if not source.is_text:
        return Choice(Scan.COLUMNS, f"a source of connector {read.connector} like this one hands over columns")
    pruned = projected(read, source)
    decoding = decoding_choice(pruned, source)
    is_alone = len(job.reads) == 1 and not facts.has_ticks
    if source.has_fast_scan and is_alone and is_read_in_driver_pass and pruned.projected_columns is None:
        reason = "that is fastest; a batch with a line that is not one flat object is read as text"
        return Choice(Scan.JSON_FILES, reason, otherwise=decoding.strategy)
    return decoding


def decoding_choice(read: Read, source: SourceFacts) -> Choice:
    """How text is decoded. ``read`` is as ``projected`` gives it."""
    if len(read.decoded) != len(read.columns):
        return Choice(Scan.SPARK_JSON, f"it passes over columns, and {len(read.columns) - len(read.decoded)} of these are not asked for")
    types = [text_type(column.type) for column in read.decoded]
    if read.time_zone != UTC and "TIMESTAMP" in types:
        return Choice(Scan.SPARK_JSON, "times without a zone are of the file's time zone, which only it is told")
    if not types or not all(type_ in ARROW_TYPES for type_ in types):
        return Choice(Scan.SPARK_JSON, "of some of the columns' types Arrow reads JSON in another way")
    if not source.has_arrow:
        return Choice(Scan.SPARK_JSON, "the Python workers of the cluster have no Arrow")
    return Choice(Scan.ARROW_JSON, "it takes half the time of Spark's parser, which gets the rows that Arrow refuses")


def text_type(type_: object) -> str:
    """A column of which no value is known yet is read as text."""
    return "STRING" if type_ in (UNKNOWN, NULL) else str(type_)


def projected(read: Read, source: SourceFacts) -> Read:
    """Columns may stay where they are only where rows are text, and where that is what dead letters keep."""
    return read if source.is_text and not source.keeps_original else replace(read, projected_columns=None)


def has_own_clock(stage: Aggregate) -> bool:
    """Where the statement says itself what event time is, or which rows move it, the source's clock is not its clock."""
    return stage.time.has_own_clock


def sink_counted_stage(job: Job) -> tuple[Read, FilterProject] | None:
    """The source and the statement of a job that does no more than filter, project and write.

    What is computed of a row that does not pass is left to chance, so nothing may be that stops a job or costs a call.
    """
    match job.stages:
        case (
            Read(constraints=()) as read,
            FilterProject(output=Output(limit=None, order_by=()), is_strict=False) as stage,
            Write(),
        ) if not (job.functions or job.limits):
            return read, stage
        case _:
            return None


def has_sole_join(read: Read, job: Job) -> bool:
    """Whether a join alone reads a source, as one of its sides. A strict join is not asked of rows that are set aside: what they hold
    may stop it.
    """
    readers = job.readers_of(read.name)
    if len(readers) != 1 or not isinstance(join := readers[0], StreamJoin) or join.is_strict or read.constraints:
        return False
    return [side.input for side in (join.left, join.right)].count(read.name) == 1
