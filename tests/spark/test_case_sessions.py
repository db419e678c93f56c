"""A case means the same in whatever session it is run."""

from __future__ import annotations

from pyspark.sql import SparkSession

from windrow.testing import CaseRunner
from windrow.testing.case import case_from

CASE = {
    "name": "settings",
    "sql": "SELECT 1 / v AS q, CAST(w AS INT) AS n, HOUR(_event_time) AS h, '$${X}' AS d FROM t",
    "input": [{"v": 0, "w": "x", "_ts": 0}],
    "expected": [{"q": None, "n": None, "h": 0, "d": "${X}"}],
}


def test_settings_of_a_session_do_not_matter(spark: SparkSession) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", "true")
    own.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    verdict = CaseRunner(own).run(case_from(CASE, "settings.jsonl", "line 1"))
    assert verdict.passed, verdict.message
    assert own.conf.get("spark.sql.ansi.enabled") == "true", "it is the user's"
