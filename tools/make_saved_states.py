"""Write the states that the tests load with every later version: tests/saved_states/<format>/<name>.

    .venv/bin/python tools/make_saved_states.py              those that are missing of the present format
    .venv/bin/python tools/make_saved_states.py session      these alone

A folder that is there is never written again: it stands for what a version of its time left behind. Needs Spark.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.saved_states.resuming import FOLDER, HERE, NOW, OUT, TOLD, Batch, ResumedJob, SavedState, spilled_rows  # noqa: E402
from windrow.jobs.history import JobHistory  # noqa: E402
from windrow.jobs.identity import CARD, REPLAYS, Origin  # noqa: E402
from windrow.jobs.letters import EVERY, read_letters  # noqa: E402
from windrow.jobs.saved_text import as_it_is  # noqa: E402
from windrow.jobs.spill import SpillFolder  # noqa: E402
from windrow.jobs.switching import JobSwitch  # noqa: E402
from windrow.jobs.writer_choice import spill_folder  # noqa: E402
from windrow.spark.state.state_file import FORMAT  # noqa: E402
from windrow.storage import LocalFolder  # noqa: E402

T = "CREATE STREAM t (k STRING, v BIGINT) WITH ('connector' = 'memory'{});\n"
U = "CREATE STREAM u (k STRING, w BIGINT) WITH ('connector' = 'memory');\n"
SELECT = "SELECT k, SUM(v) AS s, COUNT(*) AS n, MAX(v) AS m, _window_start AS since, _emission, _revision FROM t GROUP BY k WINDOW "

# A text that is read again from the folder has no case's way of writing a bare SELECT.
NAMED = T.format("") + "CREATE STREAM o AS " + SELECT + "{} ALLOWED_LATENESS 5s WITH ('connector' = 'memory');"


def rows(*told: tuple[str, str, int, int]) -> Batch:
    """Rows of streams: stream, key, value, event time in milliseconds."""
    return [(stream, {"k": key, ("v" if stream == "t" else "w"): value, "_ts": at}) for stream, key, value, at in told]


FED = (
    rows(("t", "a", 1, 1_000), ("t", "b", 2, 4_000)),
    rows(("t", "a", 3, 12_000)),
    rows(("t", "a", 4, 13_000), ("t", "c", 5, 21_000)),
    rows(("t", "b", 6, 22_000)),
)
NEXT = (rows(("t", "a", 7, 23_000), ("t", "b", 8, 14_000)), rows(("t", "a", 9, 60_000)))
# The second record of a session that is open.
SECOND = (rows(("t", "b", 8, 23_000)), NEXT[1])
BROKEN: Batch = [("t", {"k": "a", "v": "no number", "_ts": 2_000})]

STATES = (
    SavedState("tumbling_late", T.format("") + SELECT + "TUMBLING(10s) ALLOWED_LATENESS 5s;", (*FED, rows(("t", "a", 1, 2_000))), NEXT),
    SavedState("sliding", T.format("") + SELECT + "SLIDING(10s, 5s);", FED, NEXT),
    SavedState("session", T.format("") + SELECT + "SESSION(5s) ALLOWED_LATENESS 2s;", FED, NEXT),
    SavedState("row_count", T.format("") + "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k WINDOW ROWS(2);", FED, NEXT),
    SavedState("changes", T.format("") + SELECT + "TUMBLING(10s) EMIT CHANGES;", FED, NEXT),
    SavedState(
        "over", T.format("") + "SELECT k, v, LAG(v) OVER (ROWS WINDOW BUFFER 3 ROWS PARTITION BY k) AS before FROM t LIMIT 7;", FED, NEXT
    ),
    SavedState(
        "interval_join",
        T.format("") + U + "SELECT t.k, t.v, u.w FROM t JOIN u WITHIN 5s ON t.k = u.k;",
        (rows(("t", "a", 1, 1_000), ("u", "a", 10, 2_000)), rows(("t", "a", 2, 8_000), ("u", "b", 11, 8_000))),
        (rows(("u", "a", 12, 9_000), ("t", "b", 3, 9_000)),),
    ),
    SavedState(
        "upsert_table",
        T.format("") + U + "CREATE TABLE latest AS SELECT k PRIMARY KEY, w FROM u;\n"
        "CREATE STREAM joined AS SELECT t.k, t.v, l.w FROM t LEFT JOIN latest l ON t.k = l.k WITH ('connector' = 'memory');",
        (rows(("u", "a", 1, 1_000)), rows(("u", "a", 2, 2_000), ("u", "b", 3, 2_000))),
        (rows(("t", "a", 5, 3_000), ("t", "b", 6, 3_000), ("t", "c", 7, 3_000)),),
    ),
    SavedState(
        "having",
        T.format("") + "SELECT k, SUM(v) AS s, _emission, _revision FROM t GROUP BY k HAVING SUM(v) < 20 EMIT CHANGES;",
        FED,
        NEXT,
    ),
    SavedState(
        "distinct", T.format("") + "SELECT k, COUNT(DISTINCT v) AS d, AVG(v) AS a FROM t GROUP BY k WINDOW TUMBLING(30s);", FED, NEXT
    ),
    SavedState("buckets", T.format("") + SELECT + "TUMBLING(10s) ALLOWED_LATENESS 5s;", FED, NEXT, home="distributed"),
    SavedState("cumulate", T.format("") + SELECT + "CUMULATE(5s, 10s);", FED, NEXT),
    SavedState("session_end", T.format("") + SELECT + "SESSION(5s) TRIGGER EVERY 2 RECORDS OR ON SESSION_END;", FED, SECOND),
    SavedState(
        "grouping_sets",
        T.format("") + "SELECT k, GROUPING(k) AS g, COUNT(*) AS n, SUM(v) AS s FROM t GROUP BY ROLLUP(k) WINDOW TUMBLING(30s);",
        FED,
        NEXT,
    ),
    SavedState(
        "measures",
        T.format("") + "SELECT k, EWMA(v, 0.5) AS e, HISTOGRAM(v, 2, 5) AS h, INCREASE(v) AS i, RATE(v) AS r FROM t GROUP BY k "
        "WINDOW TUMBLING(30s);",
        FED,
        NEXT,
    ),
    SavedState(
        "asof_join",
        T.format("") + U + "SELECT t.k, t.v, u.w FROM t LEFT ASOF JOIN u ON t.k = u.k AND t._event_time >= u._event_time;",
        (rows(("u", "a", 10, 1_000), ("t", "a", 1, 2_000)), rows(("u", "a", 11, 4_000), ("t", "a", 2, 5_000), ("t", "b", 3, 5_000))),
        (rows(("u", "b", 12, 6_000), ("t", "a", 4, 7_000)), rows(("t", "a", 5, 60_000), ("u", "a", 13, 60_000))),
    ),
    SavedState(
        "window_join",
        T.format("") + U + "SELECT t.k, COUNT(*) AS n, SUM(u.w) AS w, _window_start AS since FROM t JOIN u ON t.k = u.k GROUP BY t.k "
        "WINDOW TUMBLING(10s);",
        (rows(("u", "a", 10, 1_000), ("t", "a", 1, 2_000)), rows(("u", "b", 11, 4_000), ("t", "a", 2, 5_000))),
        (rows(("t", "b", 3, 6_000), ("u", "a", 12, 7_000)), rows(("t", "a", 5, 60_000), ("u", "a", 13, 60_000))),
    ),
    SavedState(
        "top_row",
        T.format("") + "SELECT k, v, _window_start AS since FROM t WINDOW TUMBLING(30s) "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY _window_start, k ORDER BY v DESC) <= 1;",
        FED,
        NEXT,
    ),
    SavedState("numbered", T.format("") + "SELECT k, v, ROW_NUMBER() OVER (PARTITION BY k) AS place FROM t QUALIFY place <= 3;", FED, NEXT),
    SavedState(
        "metrics",
        T.format("") + "-- @metric: rows_seen\n-- @metric: values_seen\n-- @metric_type: histogram\n-- @metric_field: v\n"
        "-- @metric_buckets: 2, 5\nCREATE STREAM o AS SELECT k, v FROM t WHERE v > 1 WITH ('connector' = 'memory');",
        FED,
        NEXT,
    ),
    SavedState(
        "waiting_lookup",
        T.format("") + "CREATE TABLE names (k STRING, name STRING, PRIMARY KEY (k)) WITH ('connector' = 'memory');\n"
        "SELECT t.k, t.v, n.name FROM t JOIN names n ON t.k = n.k WITH ('join.on_missing' = 'wait');",
        ([("names", {"k": "a", "name": "Ann"}), *FED[0]], FED[1]),
        ([("names", {"k": "a", "name": "Ann"}), ("names", {"k": "b", "name": "Bob"}), *FED[2]],),
    ),
    SavedState(
        "expectations",
        "CREATE STREAM t (k STRING, v BIGINT, CONSTRAINT small EXPECT (v <> 5) ON VIOLATION DEAD_LETTER) WITH ('connector' = 'memory');\n"
        + SELECT
        + "TUMBLING(30s);",
        FED,
        NEXT,
    ),
    SavedState("spill", T.format("") + SELECT + "TUMBLING(10s);", FED, NEXT),
    SavedState(
        "switched",
        NAMED.format("TUMBLING(20s)"),
        FED,
        NEXT,
        before=NAMED.format("TUMBLING(10s)"),
    ),
    SavedState("waiting_replay", T.format(", 'bad.fields' = 'dead_letter'") + SELECT + "TUMBLING(10s);", (*FED, BROKEN), NEXT),
)


def make(state: SavedState, spark: Any) -> None:
    target = HERE / str(FORMAT) / state.name
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / FOLDER
        job = _fed(spark, state, folder)
        waiting = _ask_for_replay(job) if state.name == "waiting_replay" else 0
        card = json.loads((job.path / CARD).read_text(encoding="utf-8"))
        # The only thing that would differ from one making to the next.
        (job.path / CARD).write_text(json.dumps({**card, "id": state.name}, indent=1, ensure_ascii=False), encoding="utf-8")
        shutil.copytree(folder, target / FOLDER, ignore=shutil.ignore_patterns(".*", "*.rows", "lease"))
        _, held = JobHistory(state.job, folder).open_state(None)
        opened = {one.statement: 0 if one.windows is None else one.windows.height for one in held}
        after = ResumedJob(spark, state, folder)
        for batch in state.next:
            after.take(batch)
        kept = [_short(letter) for own in read_letters(target / FOLDER) for letter in own.meant_by(EVERY)]
        told = replace(
            state,
            open=opened,
            outputs=after.outputs,
            letters=tuple(kept),
            waiting=waiting,
            metrics=after.metrics,
            spilled=spilled_rows(target / FOLDER / job.path.name),
        )
        (target / TOLD).write_text(json.dumps(asdict(told), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(target.relative_to(ROOT), sum(path.stat().st_size for path in target.rglob("*") if path.is_file()), "bytes")


def _fed(spark: Any, state: SavedState, folder: Path) -> ResumedJob:
    """The job after the batches that led to the state."""
    job = ResumedJob(spark, replace(state, sql=state.before or state.sql), folder)
    for number, batch in enumerate(state.fed):
        if state.before and number == 2:
            job = _switched(spark, state, job)
        job.take(batch)
        written = [row for own in job.outputs.values() for row in own]
        if state.name == "spill" and written:
            packed = SpillFolder.pack(number, tuple(written[0]), pa.Table.from_pylist(written), NOW / 1e6)
            spill_folder(LocalFolder(job.path), OUT).put(packed)
    return job


def _switched(spark: Any, state: SavedState, job: ResumedJob) -> ResumedJob:
    """The job with its second text, which goes on from the state of the first."""
    for number in range(2):
        for log in ("offsets", "commits"):
            # What Spark notes of a batch, as far as it is asked for.
            LocalFolder(job.path / "checkpoint" / log).replace_atomically(str(number), b"v1\n{}\n")
    compiled = state.compiled()
    origin = Origin.of(compiled.script, compiled.plan)
    switch = JobSwitch(state.job, origin, LocalFolder(job.path.parent), "job.sql", as_it_is("job.sql", {}))
    switch.apply()
    return ResumedJob(spark, state, job.path.parent)


def _ask_for_replay(job: ResumedJob) -> int:
    history = JobHistory(job.job, job.path.parent)
    letters = [{key: value for key, value in letter.items() if key != "replay"} for letter in read_letters(job.path)[0].records]
    for letter in letters:
        letter["headers"] = None if letter["headers"] is None else list(letter["headers"].items())
    history.replays.ask_for(letters)
    [request] = (job.path / REPLAYS).glob("request-*.parquet")
    LocalFolder(job.path / REPLAYS).replace_atomically("request-0.parquet", request.read_bytes())
    request.unlink()
    return len(letters)


def _short(letter: dict[str, Any]) -> dict[str, Any]:
    return {"id": letter["id"], "code": letter["code"], "late_by": letter["late_by"], "row": json.loads(letter["row"])}


def main(wanted: list[str]) -> None:
    from windrow.spark.session import make_session

    missing = [state for state in STATES if not (HERE / str(FORMAT) / state.name).exists() and (not wanted or state.name in wanted)]
    if not missing:
        print("every state of this format is there")
        return
    spark = make_session("local[2]", {})
    for state in missing:
        make(state, spark)


if __name__ == "__main__":
    main(sys.argv[1:])
