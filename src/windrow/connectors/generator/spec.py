"""What the generator understands."""

from __future__ import annotations

from windrow.connectors.spec import BATCH_TARGET, BatchCap, ConnectorSpec, OptionKind, OptionSpec, nowhere

GENERATOR = ConnectorSpec(
    is_outside=False,
    batch_cap=BatchCap("rows.per.batch", 10_000, 500_000),
    worker_modules=lambda _options: ("pyarrow", "windrow"),
    name="generator",
    summary="made-up rows from a seed, the same however they are cut into batches",
    runtime="windrow.connectors.generator.runtime:GeneratorConnector",
    source=(
        OptionSpec("rows.per.second", OptionKind.TEXT, "rows that arrive a second; max: as fast as possible", default="10", example="1000"),
        OptionSpec("rows", OptionKind.INTEGER, "how many rows there are in all; without it there is no end", example="100000"),
        OptionSpec("rows.per.batch", OptionKind.INTEGER, "how many rows one micro-batch takes at most", default="500000", example="10000"),
        BATCH_TARGET,
        OptionSpec("seed", OptionKind.INTEGER, "another seed gives other rows", default="0", example="42"),
        OptionSpec("partitions", OptionKind.INTEGER, "row i is in partition i modulo this", default="1", example="4"),
        OptionSpec(
            "start.time", OptionKind.TIME, "event time of the first row", default="2026-01-01T00:00:00Z", example="2026-03-01T00:00:00Z"
        ),
        OptionSpec("event.interval", OptionKind.DURATION, "event time between two rows; 1 / rows.per.second, 1ms if max", example="100ms"),
        OptionSpec("disorder", OptionKind.DURATION, "rows are older than their place by up to this", default="0s", example="5s"),
        OptionSpec("late.share", OptionKind.NUMBER, "share of rows that are older by late.by", default="0", example="0.01"),
        OptionSpec("late.by", OptionKind.DURATION, "how much older late rows are", default="1h", example="10m"),
        OptionSpec("future.share", OptionKind.NUMBER, "share of rows that are newer by future.by", default="0", example="0.001"),
        OptionSpec("future.by", OptionKind.DURATION, "how much newer future rows are", default="2d", example="2d"),
        OptionSpec("bad.share", OptionKind.NUMBER, "share of rows that cannot be decoded", default="0", example="0.001"),
        # The stream's own key, stated here so that the column it names gets the event time.
        OptionSpec("event.time.field", OptionKind.TEXT, "column that holds the event time", example="ts"),
        OptionSpec(
            "fields.*",
            OptionKind.TEXT,
            "what a column holds: sequence(start, step), uniform(a, b), normal(mean, sd), choice(a:3, b), constant(x), "
            "walk(start, step, key_column), event_time(unit), uuid, pattern('user-####'); add null 0.1 for a share of NULLs",
            example="uniform(1, 100)",
            example_key="fields.v",
        ),
    ),
    source_partitions=None,
    places=nowhere,
)
