"""Runs a job whose database is away for some batches, and kills its own process at one step: ``python spill_job.py SQL STATE DB POINT``."""

from __future__ import annotations

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
# What is put there is put there during the outage, and delivered afterwards.
KILL_AT = {
    "before rows are spilled": 3,
    "after rows are spilled": 3,
    "before the change file": 3,
    "after the change file": 3,
    "before Spark's commit": 3,
    "rows are delivered, nothing is noted": 5,
    "delivery is noted, the file is there": 5,
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
        arm(point, KILL_AT[point])
    jobs = windrow.run(Path(sql).read_text(), mode="until_end", state=state, master="local[2]")
    jobs.await_end()
    status = jobs.status()[0]
    assert status.ledger.is_balanced
    print(f"spilled {status.ledger.statements['shop'].spilled}, waiting {status.outputs[0].waiting_rows}")


if __name__ == "__main__":
    main()
