"""What can happen to a cluster while a job runs, each with what somebody does about it afterwards."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from dataclasses import dataclass

from tests.cluster.namespaces import Host
from tests.cluster.standalone import EXECUTOR, Standalone

PYTHON_WORKERS = r"pyspark\.(?:daemon|worker)"


@dataclass(frozen=True)
class Fault:
    """``strike`` does it; ``mend`` is done when the job has gone on, or ``while_away`` has passed: some jobs can go on only then."""

    name: str
    strike: Callable[[], object]
    mend: Callable[[], object] = lambda: None
    while_away: float = 60.0


def some_fault(cluster: Standalone, chance: random.Random) -> Fault:
    name = chance.choice(sorted(cluster.workers))
    host = cluster.workers[name]
    made = (
        Fault(f"executor of {name} killed", lambda: host.signal(EXECUTOR, signal.SIGKILL)),
        Fault(f"Python workers of {name} killed", lambda: host.signal(PYTHON_WORKERS, signal.SIGKILL)),
        Fault(f"{name} killed, daemon and all", lambda: cluster.kill_worker(name), lambda: cluster.revive(name)),
        Fault(f"{name} switched off and replaced", host.power_off, lambda: cluster.revive(name)),
        Fault(f"executor of {name} hangs", lambda: _stop(host), lambda: host.signal(_EVERYTHING, signal.SIGCONT)),
        Fault(f"executor of {name} stutters", lambda: _stop(host), lambda: host.signal(_EVERYTHING, signal.SIGCONT), while_away=2.0),
        Fault(f"{name} cut off the network", host.cut, lambda: _plug_in(cluster, name)),
        Fault(f"{name} cut off for two seconds", host.cut, host.mend, while_away=2.0),
        Fault("master killed", cluster.kill_master, cluster.start_master, while_away=chance.uniform(1, 10)),
        Fault("every executor killed", lambda: [one.signal(EXECUTOR, signal.SIGKILL) for one in cluster.workers.values()]),
    )
    return chance.choice(made)


_EVERYTHING = rf"{EXECUTOR}|{PYTHON_WORKERS}"


def _stop(host: Host) -> None:
    host.signal(_EVERYTHING, signal.SIGSTOP)


def _plug_in(cluster: Standalone, name: str) -> None:
    """A worker whose master has given it up may end itself; whoever looks after machines starts it again."""
    cluster.workers[name].mend()
    cluster.revive(name)
