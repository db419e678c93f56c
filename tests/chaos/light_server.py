"""``windrow serve`` whose jobs are small programs in the place of Spark: python -m tests.chaos.light_server DATA PORT."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

from windrow.server.processes import Processes, Start
from windrow.server.reconciler import Reconciler
from windrow.server.restarts import RestartRule
from windrow.server.serve import ServeRequest, serve

ROOT = Path(__file__).resolve().parents[2]
# Kills of jobs do not use a budget up here.
RULE = RestartRule(first=0.0, longest=0.2, budget=1_000_000)


class LightProcesses(Processes):
    """The same notes, locks, sessions and environment; only what runs is another module."""

    def _words(self, asked: Start) -> list[str]:
        return ["tests.chaos.light_job", str(asked.folder.path), str(asked.folder.socket)]

    def _environment(self, asked: Start) -> dict[str, str]:
        before = super()._environment(asked)
        return {**before, "PYTHONPATH": f"{ROOT}{os.pathsep}{before.get('PYTHONPATH', '')}"}


def main() -> None:
    data, port = Path(sys.argv[1]), int(sys.argv[2])
    quick = partial(Reconciler, rule=RULE)
    with patch("windrow.server.serve.Processes", LightProcesses), patch("windrow.server.serve.Reconciler", quick):
        serve(ServeRequest(data, port=port, rate=10_000.0), lambda address, _: print(address, flush=True))


if __name__ == "__main__":
    main()
