"""A job whose database is away for some batches, and that kills its own process at one step: ``outage_job.py SQL STATE DB POINT``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import windrow
from tests import ledgerdb
from tests.chaos.fault_job import arm
from windrow.jobs.runner import RunningJob

# Batches during which the database does not answer, and the step of which batch a kill comes at.
AWAY = range(2, 5)
COMMIT = ("before the sinks", "between two sinks", "before the change file", "after the change file", "before Spark's commit")
KILL_AT = {
    # Rows wait during the outage, and are delivered afterwards.
    "spill": {
        "before rows are spilled": 3,
        "after rows are spilled": 3,
        **dict.fromkeys(COMMIT[2:], 3),
        "rows are delivered, nothing is noted": 5,
        "delivery is noted, the file is there": 5,
    },
    "failover": {
        "the other way is not noted yet": 3,
        "the other way is noted": 3,
        "rows went to the other output": 3,
        **dict.fromkeys(COMMIT, 3),
    },
    "drop": {"before rows are dropped": 3, "after rows are dropped": 3, **dict.fromkeys(COMMIT, 3)},
}


def _toggle(database: Path) -> None:
    """The database goes and comes back with the batches."""
    away = Path(f"{database}.away")
    take: Callable[..., Any] = RunningJob._take

    def toggling(self: Any, frame: Any, batch_id: int) -> None:
        if batch_id in AWAY:
            away.touch()
        else:
            away.unlink(missing_ok=True)
        take(self, frame, batch_id)

    RunningJob._take = toggling  # type: ignore[method-assign]


def main() -> None:
    sql, state, database, point = sys.argv[1:5]
    ledgerdb.install()
    _toggle(Path(database))
    if point != "none":
        arm(point, next(points[point] for points in KILL_AT.values() if point in points))
    jobs = windrow.run(Path(sql).read_text(), mode="until_end", state=state, master="local[2]")
    jobs.await_end()
    status = jobs.status()[0]
    assert status.ledger.is_balanced
    account = status.ledger.statements["shop"]
    counted = {"emitted": account.emitted, "spilled": account.spilled, "unsent": dict(account.unsent)}
    print(json.dumps({**counted, "waiting": status.outputs[0].waiting_rows}))


if __name__ == "__main__":
    main()
