"""SELECTs over frames: put together as text, and collected into the driver as Arrow tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import TOPIC_NUMBER
from windrow.plan.physical.strategies import Scan
from windrow.spark.internals.batch_constants import template_of
from windrow.spark.internals.fast_paths import PLAN_CACHE, PLAN_FUSION, FastPaths, fast_paths_of
from windrow.spark.internals.plan_cache import CachedPlan, Collected, cache_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_views = count()
# Stands in a text for the frame it is about. No name of a user's has such a character.
GIVEN = "\x00given\x00"
ANSI = "spark.sql.ansi.enabled"
# So many texts are kept prepared; those of a job that differ are a few for each of its stages.
_MOST_PREPARED = 32


@contextmanager
def strictness(session: SparkSession, is_strict: bool) -> Iterator[None]:
    """Within this, expressions are compiled to stop the job on a division by zero or an impossible cast, if so wanted."""
    if not is_strict:
        yield
        return
    session.conf.set(ANSI, "true")
    try:
        yield
    finally:
        session.conf.set(ANSI, "false")


@contextmanager
def view_of(frame: DataFrame) -> Iterator[str]:
    """A name for the frame in SQL. The view lives in the frame's own session: a micro-batch has one of its own."""
    name = f"windrow_{next(_views)}"
    frame.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        frame.sparkSession.catalog.dropTempView(name)


class RelationShape:
    """What the rows of a text look like. It is asked once: the text is the same in every batch."""

    def __init__(self, columns: tuple[str, ...]) -> None:
        self.columns = columns
        self.schema: StructType | None = None


class LazyRelation:
    """Rows as a SELECT over a frame. It can be part of a larger SELECT; a frame is only made of it when somebody asks for one.

    With ``topics``, rows have ``_topic_number`` beside ``_topic``, for whoever asks in SQL and spells it out in the same batch.
    ``speculative`` opens another way to the same rows, for whoever can ask once more should it not hold; None where there is none.
    ``scan`` is how rows of a source are decoded, where that is known.
    """

    def __init__(
        self,
        given: DataFrame,
        sql: str | None = None,
        shape: RelationShape | None = None,
        topics: Callable[[DataFrame], Mapping[int, str]] | None = None,
        speculative: Callable[[], SpeculativeRelation | None] | None = None,
        scan: Scan | None = None,
    ) -> None:
        self.given = given
        self._sql = sql
        self._shape = shape
        self._topics = topics
        self.speculative = speculative
        self.scan = scan

    @property
    def source(self) -> str:
        """What to write after FROM."""
        return GIVEN if self._sql is None else f"({self._sql})"

    @cached_property
    def frame(self) -> DataFrame:
        frame = self.given if self._sql is None else frame_of_sql(self.given, self._sql)
        return frame if self._topics is None else frame.drop(TOPIC_NUMBER)

    @cached_property
    def topics(self) -> Mapping[int, str]:
        """What the numbers of topics in these rows stand for."""
        return {} if self._topics is None else self._topics(self.given)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.frame.columns) if self._shape is None else self._shape.columns

    @property
    def schema(self) -> StructType:
        if self._shape is None:
            return self.frame.schema
        if self._shape.schema is None:
            self._shape.schema = self.frame.schema
        return self._shape.schema


@dataclass(frozen=True)
class SpeculativeRelation:
    """Rows that count only if they can be computed, if ``holds``, which may wait, and if none is set aside with the text that it was."""

    rows: LazyRelation
    holds: Callable[[], bool]
    # Told what computing them failed with.
    failed: Callable[[Exception], None]


def frame_of_sql(given: DataFrame, sql: str) -> DataFrame:
    """The frame of a text. One text is analysed faster than a chain of calls."""
    with view_of(given) as view:
        return given.sparkSession.sql(sql.replace(GIVEN, view))


class QueryRunner:
    """Runs the SELECTs of a job. One that comes again, but for its rows and the constants of its batch, is planned only once."""

    def __init__(self) -> None:
        self._prepared: OrderedDict[tuple[str, bool], CachedPlan | None] = OrderedDict()
        self._known: FastPaths | None = None

    def table(self, rows: LazyRelation, sql: Callable[[str], str], *, is_strict: bool = False) -> pa.Table:
        """Run ``sql(source)``, where ``source`` stands for the rows."""
        return self.partials(rows, sql, is_strict=is_strict).table

    def partials(self, rows: LazyRelation, sql: Callable[[str], str], *, is_strict: bool = False, unmerged_upto: int = 0) -> Collected:
        """The same of a query that groups, for whoever does not mind if a group comes several times, once from each of up to so many tasks.

        That saves the exchange which brings them together.
        """
        text = sql(rows.source)
        # Asked once: all that a runner runs is of one session and its clones.
        paths = self._known = self._known or fast_paths_of(rows.given.sparkSession)

        def planned_anew() -> Collected:
            with strictness(rows.given.sparkSession, is_strict):
                return Collected(frame_of_sql(rows.given, text).toArrow())

        def planned_once() -> Collected:
            template, values = template_of(text)
            plan = self._plan_of(rows, template, values, is_strict)
            if plan is None or not plan.fits(rows.given):
                return planned_anew()
            return paths.attempt(
                PLAN_FUSION,
                lambda: plan.run(rows.given, values, unmerged_upto=unmerged_upto),
                lambda: plan.run(rows.given, values, unmerged_upto=unmerged_upto, is_fused=False),
            )

        return paths.attempt(PLAN_CACHE, planned_once, planned_anew)

    def _plan_of(self, rows: LazyRelation, template: str, values: list[int], is_strict: bool) -> CachedPlan | None:
        key = (template, is_strict)
        if key not in self._prepared:
            with strictness(rows.given.sparkSession, is_strict):
                self._prepared[key] = cache_plan(rows.given, template, values, lambda marked: frame_of_sql(rows.given, marked))
            if len(self._prepared) > _MOST_PREPARED:
                self._prepared.popitem(last=False)
        self._prepared.move_to_end(key)
        return self._prepared[key]
