"""Dead letters that are fed to their job once more: what was asked for, and which batch takes what.

A request is a file of letters, written by whoever asks, at any time. Before a batch runs, the letters that it takes are noted in a
file named by the batch, as Spark notes its offsets: a batch that runs again takes the same. A letter is in the file of one batch
at most, so it is never taken twice.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.observe.ledger import TakenBack
from windrow.spark.execution.dead_letters import SCHEMA, Place, place_of
from windrow.storage import Folder
from windrow.storage.parquet import read_parquet

_REQUEST, _BATCH = "request-", "batch-"
# On an object store a listing takes as long as a small batch.
_LOOK_SECONDS = 1.0

Letter = Mapping[str, Any]


@dataclass(frozen=True)
class Replay:
    """The letters that one batch takes in beside its rows."""

    letters: tuple[Letter, ...] = ()

    def of(self, source: str) -> list[Letter]:
        return [letter for letter in self.letters if letter["source"] == source and letter["statement"] is None]

    @property
    def taken_back(self) -> dict[str, TakenBack]:
        """By source, or by the statement that had set its own rows aside: as the ledger had booked them."""
        found: dict[str, TakenBack] = {}
        for letter in self.letters:
            own = found.setdefault(letter["source"], TakenBack())
            own.codes[letter["code"]] += 1
            if letter.get("constraint") is not None:
                own.constraints[letter["constraint"]] += 1
        return found

    @property
    def returned(self) -> dict[str, list[Letter]]:
        """Rows that a statement had given and set aside, by statement."""
        found: dict[str, list[Letter]] = {}
        for letter in self.letters:
            if letter["statement"] is not None:
                found.setdefault(letter["statement"], []).append(letter)
        return found

    @property
    def attempts(self) -> dict[Place, int]:
        return {place_of(letter): letter["attempt"] for letter in self.letters}


NO_REPLAY = Replay()


@dataclass
class ReplayLog:
    folder: Folder
    _looked_at: float = field(default=float("-inf"), repr=False)

    def ask_for(self, letters: Sequence[Letter], by_rules_of: int | None = None) -> None:
        """``by_rules_of``: rules ask, for letters of that batch; they ask again for the same after a crash."""
        buffer = BytesIO()
        pq.write_table(pa.Table.from_pylist(list(letters), schema=SCHEMA), buffer)
        name = uuid.uuid4().hex if by_rules_of is None else f"rules-{by_rules_of:010d}"
        self.folder.replace_atomically(f"{_REQUEST}{name}.parquet", buffer.getvalue())

    def asked(self) -> dict[str, Letter]:
        """Every letter that was asked for, by its id."""
        found: dict[str, Letter] = {}
        for name in self.folder.names():
            if name.startswith(_REQUEST):
                for letter in read_parquet(self.folder.read(name)).to_pylist():
                    found.setdefault(letter["id"], letter)
        return found

    def taken(self) -> dict[str, int]:
        """The batch that took each letter."""
        files = {name: _number(name) for name in self.folder.names() if name.startswith(_BATCH)}
        return {identity: batch for name, batch in files.items() for identity in json.loads(self.folder.read(name))}

    def is_waiting(self) -> bool:
        return bool(self.asked().keys() - self.taken().keys())

    def plan(self, batch_id: int, *, is_again: bool = False, at_once: bool = False) -> Replay:
        """What a batch takes: as noted where it ran before, else all that waits.

        One that runs again (``is_again``) took nothing if nothing is noted: what it wrote may be where it belongs already.
        Batches in quick succession do not look each time, unless one must (``at_once``).
        """
        now, first = time.monotonic(), self._looked_at == float("-inf")
        if not first and not at_once and now - self._looked_at < _LOOK_SECONDS:
            return NO_REPLAY
        self._looked_at = now
        names = self.folder.names()
        if not any(name.startswith(_REQUEST) for name in names):
            return NO_REPLAY
        asked, taken = self.asked(), self.taken()
        name = _batch_file(batch_id)
        if name not in names:
            # Letters of a batch that runs again are no letters before it has run.
            waiting = sorted(identity for identity in asked.keys() - taken.keys() if asked[identity]["batch_id"] < batch_id)
            if is_again or not waiting:
                return NO_REPLAY
            self.folder.replace_atomically(name, json.dumps(waiting).encode())
            taken.update(dict.fromkeys(waiting, batch_id))
        return Replay(tuple(asked[identity] for identity, batch in taken.items() if batch == batch_id))

    def has_noted(self, batch_id: int) -> bool:
        """Whether a batch has taken letters."""
        return self.folder.exists(_batch_file(batch_id))

    def forget_after(self, batch_id: int) -> None:
        """Letters that later batches took wait again; letters of later batches will be set aside anew, so nobody asked for them yet."""
        for name in self.folder.names():
            if name.startswith(_BATCH) and _number(name) > batch_id:
                self.folder.remove(name)
        for name in self.folder.names():
            if name.startswith(_REQUEST):
                letters = read_parquet(self.folder.read(name)).to_pylist()
                kept = [letter for letter in letters if letter["batch_id"] <= batch_id]
                if len(kept) < len(letters):
                    self.folder.remove(name)
                    if kept:
                        self.ask_for(kept)


def _batch_file(batch_id: int) -> str:
    return f"{_BATCH}{batch_id:010d}.json"


def _number(name: str) -> int:
    return int(name.removeprefix(_BATCH).removesuffix(".json"))
