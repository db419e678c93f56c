"""The versions of a job: every text that its state was carried through, and where the state of each lies.

``job.json`` is the present version. The folder ``versions`` keeps the ones before, each as its ``job.json`` was.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windrow.jobs.identity import parts_of, read_card
from windrow.storage import Folder

VERSIONS = "versions"


@dataclass(frozen=True)
class JobText:
    """One version. ``since`` is the batch after which it took over (-1: the beginning), ``until`` the last that it ran, if it is over.

    ``klass`` is the widest class of its changes, ``origin`` the version that it was rolled back to.
    """

    number: int
    card: Mapping[str, Any]

    @property
    def since(self) -> int:
        return int(self.card.get("since_batch", -1))

    @property
    def switch(self) -> Mapping[str, Any]:
        """Who made it, when and why; empty for the first."""
        found: Mapping[str, Any] = self.card.get("switch", {})
        return found

    @property
    def parts(self) -> tuple[str, str]:
        """The folders of its state in the driver and with the executors."""
        return parts_of(self.card)


def number_of(card: Mapping[str, Any]) -> int:
    return int(card.get("version", 1))


def versions_of(folder: Folder) -> list[JobText]:
    """Every version, oldest first, the present one last."""
    card = read_card(folder)
    kept = [name for name in folder.child(VERSIONS).names() if name.endswith(".json") and name.removesuffix(".json").isdigit()]
    before = [json.loads(folder.child(VERSIONS).read(name)) for name in kept]
    cards = [each for each in before if number_of(each) < number_of(card)]
    return [JobText(number_of(each), each) for each in (*sorted(cards, key=number_of), card)]


def keep_version(folder: Folder, card: Mapping[str, Any]) -> None:
    """Note a version before another one takes its place."""
    folder.child(VERSIONS).replace_atomically(f"{number_of(card)}.json", json.dumps(card, indent=1, ensure_ascii=False).encode())
