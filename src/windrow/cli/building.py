"""``windrow apply --strategy rebuild`` and ``blue-green``: the state is made anew while the job runs, and swapped when it has stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypedDict

import typer

if TYPE_CHECKING:
    from windrow.changes import Strategy
    from windrow.compiler import Compiled
    from windrow.jobs.switching import JobSwitch, Review


class Told(TypedDict):
    """What the history notes of a change."""

    message: str
    who: str
    commit: str


def build_and_apply(
    changed: list[tuple[JobSwitch, Review]],
    compiled: Compiled,
    strategy: Strategy,
    told: Told,
    stop: Callable[[], None],
    master: str,
    settings: Mapping[str, str],
    *,
    is_final: bool,
    yes: bool,
) -> None:
    """``stop`` stops the jobs, which may run until all is built."""
    from windrow.changes import Strategy
    from windrow.cli.change_text import rehearsal_text
    from windrow.cli.spark_start import start_spark
    from windrow.jobs.building import building
    from windrow.jobs.options import SPARK
    from windrow.spark.internals.java_process import stop_session

    spark = start_spark(master, {key: value for key, value in settings.items() if key.startswith(SPARK)})
    own = {key: value for key, value in settings.items() if not key.startswith(SPARK)}
    try:
        with ExitStack() as stack:
            builders = [(switch, stack.enter_context(building(switch, compiled, spark=spark, settings=own))) for switch, _ in changed]
            for (_, builder), (_, review) in zip(builders, changed, strict=True):
                print(f"   building the state of job {review.job} anew from {review.rows_read:,} rows")
                builder.build(review)
                if strategy is Strategy.BLUE_GREEN:
                    print(f"\n{rehearsal_text(builder.compare(review))}\n")
            if strategy is Strategy.BLUE_GREEN and not yes and not typer.confirm("Swap?"):
                print("nothing was changed")
                raise typer.Exit(1)
            stop()
            for switch, builder in builders:
                switch.apply(strategy=strategy, is_final=is_final, build=builder.state_at, **told)
    finally:
        stop_session(spark)
