"""Applies or rolls back a change, and kills its own process at one of its writes: its arguments are those of ``main``.

Texts are JSON of the fields of ``Text``. Writes are those of the whole folder but its lease; a step is before a write (even numbers) or
after it (odd ones).
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tests.property.changed_job import PlainJob, Text
from windrow.storage import LocalFolder


def arm(step: int) -> None:
    done = {"writes": 0}

    def faulty(method: str) -> Callable[..., None]:
        original = getattr(LocalFolder, method)

        def call(self: LocalFolder, name: str = "", *args: object, **kwargs: object) -> None:
            if "lease" in f"{self.path}/{name}":
                original(self, name, *args, **kwargs)
                return
            if done["writes"] == step / 2:
                os.kill(os.getpid(), signal.SIGKILL)
            original(self, name, *args, **kwargs)
            if done["writes"] == (step - 1) / 2:
                os.kill(os.getpid(), signal.SIGKILL)
            done["writes"] += 1

        return call

    for method in ("replace_atomically", "remove"):
        setattr(LocalFolder, method, faulty(method))


def text_of(told: str) -> Text:
    fields = json.loads(told)
    return Text(**{**fields, "calls": tuple(fields["calls"])})


def main(folder: str, home: str, old: str, new: str, command: str, step: str) -> None:
    job = PlainJob(Path(folder), home)
    # Known by its SQL, as whoever saved it knew it.
    job.compiled(text_of(old))
    switch = job.switch(text_of(new))
    arm(int(step))
    if command == "apply":
        switch.apply(is_final=False)
        switch.finalise()
    else:
        switch.rollback()


if __name__ == "__main__":
    main(*sys.argv[1:])
