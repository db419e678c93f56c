"""What a Kafka sink understands."""

from __future__ import annotations

from windrow.connectors.spec import FAILURE_POLICY, SIGNALS, OptionKind, OptionSpec

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly_once", "at_least_once"
WRITTEN, EVENT_TIME = "written", "event_time"
COMMITS_TOPIC = "_windrow_commits"
JSON, OTLP, OTLP_JSON = "json", "otlp", "otlp-json"
FORMATS = (JSON, OTLP, OTLP_JSON)

SINK_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("topic", OptionKind.TEXT, "topic to write to", is_required=True, example="volumes"),
    OptionSpec("bootstrap.servers", OptionKind.TEXT, "brokers to ask first", is_required=True, example="localhost:9092"),
    OptionSpec(
        "delivery",
        OptionKind.CHOICE,
        "a transaction for each batch, or none and a header on each record by which readers can tell doubles",
        default=EXACTLY_ONCE,
        choices=(EXACTLY_ONCE, AT_LEAST_ONCE),
        example=AT_LEAST_ONCE,
    ),
    OptionSpec(
        "value.format",
        OptionKind.CHOICE,
        "how the value of a record is written: a row as JSON, or many rows of telemetry as one OTLP request",
        default=JSON,
        choices=FORMATS,
        example=OTLP,
    ),
    OptionSpec("format", OptionKind.CHOICE, "the same as value.format", default=JSON, choices=FORMATS, example=OTLP),
    OptionSpec("signal", OptionKind.CHOICE, "what the rows are, where they are written as OTLP", choices=SIGNALS, example="logs"),
    OptionSpec(
        "timestamp",
        OptionKind.CHOICE,
        "time of a record: when it was written, or the event time of its row",
        default=WRITTEN,
        choices=(WRITTEN, EVENT_TIME),
        example=EVENT_TIME,
    ),
    OptionSpec("topic.create", OptionKind.BOOLEAN, "whether a missing topic is made", default="false", example="true"),
    OptionSpec(
        "topic.partitions", OptionKind.INTEGER, "partitions of a topic that is made; as the broker has it if not given", example="6"
    ),
    OptionSpec(
        "topic.replication.factor", OptionKind.INTEGER, "copies of a topic that is made; as the broker has it if not given", example="3"
    ),
    OptionSpec(
        "commits.topic",
        OptionKind.TEXT,
        "compacted topic that notes the last batch of each sink, made if missing",
        COMMITS_TOPIC,
        example="shop_commits",
    ),
    OptionSpec("transaction.timeout", OptionKind.DURATION, "the broker aborts a batch that takes longer", default="5m", example="15m"),
    OptionSpec("request.timeout", OptionKind.DURATION, "how long one call to the broker may take", default="30s", example="10s"),
    OptionSpec(
        "retry.timeout",
        OptionKind.DURATION,
        "how long a batch waits for a broker that does not answer before the job stops",
        default="10m",
        example="1h",
    ),
    FAILURE_POLICY,
    OptionSpec(
        "kafka.*",
        OptionKind.TEXT,
        "any setting of the Kafka client, such as kafka.security.protocol, kafka.sasl.jaas.config, kafka.compression.type; never printed",
        example="SASL_SSL",
        example_key="kafka.security.protocol",
        is_secret=True,
    ),
)
