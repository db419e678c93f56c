"""Topics as sources: every record becomes a row or a dead letter, in the order of its partition, once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.cimpl import NewPartitions
from pyspark.sql import SparkSession

from tests.integration.conftest import Broker
from tests.integration.topics import Record, Runner, only, options, send, until
from tests.integration.written import read_topic
from windrow.cli.report import left_out
from windrow.connectors.memory.runtime import SINKS
from windrow.errors import JobError, UsageError, WindrowError

TIMED = "(k STRING, v INT, ts BIGINT)"
TIME = {"event__time__field": "ts", "event__time__format": "epoch_millis"}
OUT = "WITH ('connector' = 'memory')"


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Runner:
    return Runner(spark, tmp_path)


def row(key: str, ts: int, partition: int = 0, value: int = 1) -> Record:
    return Record({"k": key, "v": value, "ts": ts}, partition)


def test_the_watermark_waits_for_every_partition(broker: Broker, run: Runner) -> None:
    """Partition 1 is far behind: a window that partition 0 has passed stays open for its rows, also over a restart."""
    topic = broker.topic(partitions=2)
    sql = f"""
    CREATE STREAM s {TIMED} WITH ({options(broker, topic, **TIME)});
    CREATE STREAM out AS SELECT k, _window_start AS w, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(10s) {OUT};
    """
    send(broker, topic, [row("a", 1_000), row("a", 60_000), row("a", 2_000, 1)])
    assert run.rows(sql, "once") == []
    send(broker, topic, [row("a", 3_000, 1), row("a", 61_000, 1), row("a", 62_000)])
    first = run.rows(sql, "once")
    assert [(r["w"].timestamp(), r["n"]) for r in first] == [(0, 3)]
    rest = run.rows(sql, "until_end")
    assert [(r["w"].timestamp(), r["n"]) for r in rest] == [(60, 3)]
    assert run.dead_letters() == []


def test_a_partition_without_a_row_is_named_as_what_holds_the_watermark(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=2)
    sql = f"""
    CREATE STREAM s {TIMED} WITH ({options(broker, topic, **TIME)});
    CREATE STREAM out AS SELECT k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(10s) {OUT};
    """
    send(broker, topic, [row("a", 1_000), row("a", 60_000)])
    silent = run.start(sql, "once")
    assert silent.await_end(90)
    silent.stop()
    status = silent.status()[0]
    assert status.held_by is not None
    assert (status.held_by.source, status.held_by.partition, status.held_by.reached) == ("s", 1, None)
    assert left_out(status) == ["partition 1 of s has sent nothing, so no window could close"]
    send(broker, topic, [row("a", 3_000, 1)])
    behind = run.start(sql, "once")
    assert behind.await_end(90)
    behind.stop()
    status = behind.status()[0]
    assert status.held_by is not None
    assert (status.held_by.partition, status.held_by.reached, status.held_by.behind_seconds) == (1, 3_000_000, 57.0)
    assert left_out(status) == ["partition 1 of s holds the watermark back by 57.0 s: windows up to there stay open"]


def test_where_a_record_came_from(broker: Broker, run: Runner) -> None:
    """Two topics in one stream, each partition with a clock of its own; headers, keys and the record's time."""
    first, second = broker.topic(partitions=1), broker.topic(partitions=2)
    headers = (("trace", b"1"), ("trace", b"2"), ("odd", b"\xff"))
    send(broker, first, [Record({"v": 1}, 0, b"key", headers, 1_700_000_000_123), Record({"v": 2}, 0, b"\xff", (), 1_700_000_001_000)])
    send(broker, second, [Record({"v": 3}, 1, None, (), 1_700_000_000_500)])
    sql = f"""
    CREATE STREAM s (v INT) WITH ({options(broker, f"{first}, {second}")});
    CREATE STREAM out AS
      SELECT v, _topic AS t, _partition AS p, _offset AS o, _key AS k, HEADER('trace') AS h, _event_time AS at FROM s {OUT};
    """
    found = sorted(run.rows(sql), key=lambda r: r["v"])
    assert only(found, "v", "t", "p", "o", "k", "h") == [
        (1, first, 0, 0, "key", "2"),
        (2, first, 0, 1, "\ufffd", None),
        (3, second, 1, 0, None, None),
    ]
    assert [r["at"].timestamp() for r in found] == [1_700_000_000.123, 1_700_000_001.0, 1_700_000_000.5]
    windows = f"""
    CREATE STREAM s (v INT) WITH ({options(broker, f"{first},{second}")});
    CREATE STREAM out AS SELECT COUNT(*) AS n FROM s WINDOW TUMBLING(1s) {OUT};
    """
    # Partition 0 of the second topic never had a row, so nothing may close before the end.
    assert run.rows(windows, "once", "windows") == []
    assert only(run.rows(windows, "until_end", "windows"), "n") == [(2,), (1,)]


POISON = [
    (b'{"k": "a", "v": 1, "ts": 1000}', None),
    (None, "WR701"),
    (b"", "WR701"),
    (b'\xff\xfe{"k": 1}', "WR701"),
    (b'{"k": "\xff", "ts": 1}', "WR701"),
    (b'{"k": "twice", "v": 1, "v": 2, "ts": 1000}', None),
    (b'{"k": null, "v": null, "ts": 1000}', None),
    (b"[1]", "WR701"),
    (b'"text"', "WR701"),
    (b'{"k": "b", "v": "no number", "ts": 1000}', None),
    (b'{"k": "no time"}', "WR703"),
    (b'{"k": "' + b"x" * 900_000 + b'", "v": 9, "ts": 1000}', None),
    (b"\0" * 900_000, "WR701"),
    (b'{"k": "a", "ts": 1000} trailing', "WR701"),
    (b'{"k": "a", "ts": 1000}}', "WR701"),
    (b'{"k": "a", "ts": 1000}{"k": "b", "ts": 1000}', "WR701"),
    (b'{"k": "a", "ts": 1000}, {"k": "b", "ts": 1000}', "WR701"),
    (b' {"k": "} {", "v": 3, "ts": 1000, "more": [{"x": null}, {"x": {}}]}\r\n', None),
]


def test_no_record_stops_the_job(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=1)
    send(broker, topic, [Record(value) for value, _ in POISON])
    sql = f"""
    CREATE STREAM s {TIMED} WITH ({options(broker, topic, **TIME)});
    CREATE STREAM out AS SELECT k, v, _offset AS o FROM s {OUT};
    """
    found = {r["o"]: r for r in run.rows(sql)}
    assert sorted(found) == [number for number, (_, code) in enumerate(POISON) if code is None]
    assert only([found[5], found[6], found[9]], "k", "v") == [("twice", 2), (None, None), ("b", None)]
    letters = {letter["offset"]: letter for letter in run.dead_letters()}
    assert {o: letter["code"] for o, letter in letters.items()} == {o: code for o, (_, code) in enumerate(POISON) if code is not None}
    assert all(letter["raw"] == POISON[o][0] for o, letter in letters.items())


def test_letters_of_a_window_are_whole(broker: Broker, run: Runner) -> None:
    """What no statement asks for is not decoded, and stands in the letters all the same."""
    topic = broker.topic(partitions=1)
    late = b'{"k": "a", "v": 7, "ts": 1000, "note": "} here", "at": [1, "x"]}'
    send(broker, topic, [*(Record(value) for value, _ in POISON), row("a", 90_000), Record(late)])
    sql = f"""
    CREATE STREAM s (k STRING, v INT, ts BIGINT, note STRING, at ARRAY<INT>) WITH ({options(broker, topic, **TIME)},
      'max.offsets.per.trigger' = '{len(POISON) + 1}');
    CREATE STREAM out AS SELECT k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(10s) {OUT};
    """
    counted = sum(r["n"] for r in run.rows(sql))
    letters = {letter["offset"]: letter for letter in run.dead_letters()}
    codes = [code for _, code in POISON]
    assert {o: letter["code"] for o, letter in letters.items()} == {
        **{o: code for o, code in enumerate(codes) if code is not None},
        len(POISON) + 1: "WR705",
    }
    assert counted == codes.count(None) + 1
    assert all(letter["raw"] == POISON[o][0] for o, letter in letters.items() if o < len(POISON))
    last = letters[len(POISON) + 1]
    assert last["raw"] == late
    assert json.loads(last["row"]) == {"k": "a", "v": 7, "ts": 1000, "note": "} here", "at": None}


@pytest.mark.parametrize("is_shared", [False, True])
def test_the_headers_of_the_last_row(broker: Broker, run: Runner, is_shared: bool) -> None:
    """A group goes out with the headers of its last row, whenever the first of them comes; also beside a like statement."""
    topic, out = broker.topic(partitions=1), broker.topic(partitions=1)
    beside = f"CREATE STREAM sums AS SELECT k, SUM(v) AS v FROM s GROUP BY k WINDOW TUMBLING(20s) {OUT};" if is_shared else ""
    sql = f"""
    CREATE STREAM s {TIMED} WITH ({options(broker, topic, max__offsets__per__trigger="2", **TIME)});
    CREATE STREAM out AS SELECT k, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(10s) WITH ({options(broker, out)});
    {beside}
    """
    marked = [Record({"k": k, "v": 1, "ts": 3000}, 0, None, (("trace", k.encode()),)) for k in "abc"]
    rest = [row("c", 4000), row("c", 4500), row("a", 90_000)]
    send(broker, topic, [row("a", 1000), row("b", 2000), marked[0], row("b", 2500), *marked[1:], *rest])
    jobs = run.start(sql)
    assert jobs.await_end(90)
    sent = {one.value["k"]: (one.value["n"], one.headers) for one in read_topic(broker.address, out)[:3]}
    assert sent == {"a": (2, {"trace": "a"}), "b": (3, {"trace": "b"}), "c": (3, {})}


def test_nulls_at_every_depth_are_values(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=1)
    values = [{"a": None}, {"a": {"b": None}}, {"a": {"b": [None, {"c": None}]}}, {"a": {"b": [{"c": 1}]}}, {"a": 7}]
    send(broker, topic, [Record(value) for value in values])
    sql = f"""
    CREATE STREAM s (a STRUCT<b: ARRAY<STRUCT<c: INT>>>) WITH ({options(broker, topic)});
    CREATE STREAM out AS SELECT _offset AS o, a IS NULL AS no_a, a.b IS NULL AS no_b, a.b[0].c AS c, size(a.b) AS n FROM s {OUT};
    """
    found = sorted(only(run.rows(sql), "o", "no_a", "no_b", "c", "n"))
    nothing, empty = (True, True, None), (False, True, None)
    assert [row[1:4] for row in found] == [nothing, empty, (False, False, None), (False, False, 1), nothing]
    assert found[2][4] == 2


def test_csv_and_raw_values(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=1)
    values = [b'1;"x; y";2026-01-01', b"none;z;2026-01-02", b"3", b"\xff", None, b"4;\\N;nonsense"]
    send(broker, topic, [Record(value) for value in values])
    sql = f"""
    CREATE STREAM s (a INT, b STRING, d DATE) WITH ({options(broker, topic, format="csv", csv__delimiter=";", csv__null=chr(92) + "N")});
    CREATE STREAM out AS SELECT a, b, d, _offset AS o FROM s {OUT};
    """
    found = run.rows(sql, state="csv")
    assert [(r["a"], r["b"], str(r["d"]), r["o"]) for r in found] == [
        (1, "x; y", "2026-01-01", 0),
        (None, "z", "2026-01-02", 1),
        (4, None, "None", 5),
    ]
    assert sorted(only(run.dead_letters("csv"), "offset", "raw")) == [(2, b"3"), (3, b"\xff"), (4, b"")]
    raw = f"""
    CREATE STREAM s (line STRING) WITH ({options(broker, topic, format="raw", bootstrap__servers=broker.address)});
    CREATE STREAM out AS SELECT line, _offset AS o FROM s {OUT};
    """
    lines = run.rows(raw, state="raw")
    assert only(lines, "o", "line") == [(0, '1;"x; y";2026-01-01'), (1, "none;z;2026-01-02"), (2, "3"), (4, None), (5, "4;\\N;nonsense")]
    assert only(run.dead_letters("raw"), "offset", "raw") == [(3, b"\xff")]


def test_where_a_new_job_begins(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=2)
    start = 1_767_225_600_000
    send(broker, topic, [Record({"v": n}, n % 2, None, (), start + n * 1000) for n in range(10)])

    def values(name: str, **more: str) -> list[int]:
        sql = f"CREATE STREAM s (v INT) WITH ({options(broker, topic, **more)}); CREATE STREAM out AS SELECT v FROM s {OUT};"
        return sorted(r["v"] for r in run.rows(sql, "once", name))

    assert values("offsets", starting__offsets=f'{{"{topic}": {{"0": 3}}}}') == [1, 3, 5, 6, 7, 8, 9]
    assert values("time", starting__timestamp="2026-01-01T00:00:06Z", max__offsets__per__trigger="2") == [6, 7, 8, 9]
    assert values("latest", auto__offset__reset="latest") == []
    with pytest.raises(UsageError, match=r"WR867.*names .*/7, which is not read"):
        values("wrong", starting__offsets=f'{{"{topic}": {{"7": 3}}}}')


def test_partitions_that_are_added_while_the_job_runs(broker: Broker, run: Runner) -> None:
    """A new partition has its own clock from its first row on, and its lag is shown with that of the others."""
    topic = broker.topic(partitions=1)
    more = {**TIME, "group__id": f"lag-{topic}", "kafka__metadata__max__age__ms": "200"}
    sql = f"""
    CREATE STREAM s {TIMED} WITH ({options(broker, topic, **more)});
    CREATE STREAM out AS SELECT k, _window_start AS w, COUNT(*) AS n FROM s GROUP BY k WINDOW TUMBLING(10s) {OUT};
    """
    jobs = run.start(sql, "continuous")
    try:
        send(broker, topic, [row("a", 1_000)])
        until(lambda: jobs.status()[0].rows_in == 1)
        admin = broker.admin
        admin.create_partitions([NewPartitions(topic, 2)])[topic].result(30)
        send(broker, topic, [row("a", 2_000, 1)])
        until(lambda: jobs.status()[0].rows_in == 2)
        send(broker, topic, [row("a", 60_000)])
        until(lambda: jobs.status()[0].rows_in == 3)
        send(broker, topic, [row("a", 3_000, 1)])
        until(lambda: jobs.status()[0].rows_in == 4)
        assert SINKS["out"].rows() == []
        send(broker, topic, [row("a", 61_000, 1)])
        until(lambda: bool(SINKS["out"].rows()))
        assert only(SINKS["out"].rows(), "n") == [(3,)]
    finally:
        jobs.stop()
    group = Consumer({"bootstrap.servers": broker.address, "group.id": f"lag-{topic}"})
    noted = group.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=30)
    assert [place.offset for place in noted] == [2, 3]


def test_a_missing_topic_is_waited_for(broker: Broker, run: Runner) -> None:
    sql = "CREATE STREAM s (v INT) WITH ({}); CREATE STREAM out AS SELECT v FROM s {};"
    short = {"topic__wait__timeout": "1s", "topic__retry__interval": "200ms"}
    with pytest.raises(UsageError, match=r"\[WR862\] the topic nowhere cannot be found at .*(\n.*)*topic.wait.timeout"):
        run.rows(sql.format(options(broker, "nowhere", **short), OUT))
    with pytest.raises(UsageError, match=r"\[WR862\] a topic that matches no-.* cannot be found"):
        run.rows(sql.format(options(broker, "", topic__pattern="no-.*", **short), OUT))


def test_a_wrong_address_and_wrong_credentials_are_told(broker: Broker, run: Runner) -> None:
    sql = "CREATE STREAM s (v INT) WITH ({}); CREATE STREAM out AS SELECT v FROM s {};"
    topic = broker.topic()
    with pytest.raises(JobError, match=r"\[WR860\] could not ask for its topics: the broker 127.0.0.1:1 does not answer"):
        run.rows(sql.format(options(broker, topic, bootstrap__servers="127.0.0.1:1", topic__wait__timeout="2s"), OUT))
    login = {"kafka__security__protocol": "SASL_PLAINTEXT", "kafka__sasl__mechanism": "PLAIN", "kafka__sasl__username": "me"}
    # The state folder is the same: what never began may be mended.
    with pytest.raises(WindrowError) as refused:
        run.rows(sql.format(options(broker, topic, **login, kafka__sasl__password="hush", topic__wait__timeout="5s"), OUT))
    assert refused.value.code in ("WR860", "WR861")
    assert "hush" not in str(refused.value)


def test_a_topic_that_is_deleted_stops_the_job_with_a_reason(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=1)
    quick = {"kafka__metadata__max__age__ms": "200", "kafka__default__api__timeout__ms": "3000", "kafka__request__timeout__ms": "2000"}
    sql = f"CREATE STREAM s (v INT) WITH ({options(broker, topic, **quick)}); CREATE STREAM out AS SELECT v FROM s {OUT};"
    jobs = run.start(sql, "continuous")
    try:
        send(broker, topic, [Record({"v": 1})])
        until(lambda: jobs.status()[0].rows_in == 1)
        admin = broker.admin
        admin.delete_topics([topic])[topic].result(30)
        with pytest.raises(JobError, match=r"\[WR863\] records are gone"):
            jobs.await_end(60)
    finally:
        jobs.stop()


def test_a_job_lives_through_a_broker_that_is_killed(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=2)
    sql = f"CREATE STREAM s (v INT) WITH ({options(broker, topic)}); CREATE STREAM out AS SELECT v FROM s {OUT};"
    jobs = run.start(sql, "continuous")
    try:
        send(broker, topic, [Record({"v": n}, n % 2) for n in range(4)])
        until(lambda: jobs.status()[0].rows_in == 4)
        broker.kill()
        broker.start()
        send(broker, topic, [Record({"v": n}, n % 2) for n in range(4, 8)])
        until(lambda: jobs.status()[0].rows_in == 8)
    finally:
        jobs.stop()
    assert sorted(r["v"] for r in SINKS["out"].rows()) == list(range(8))
