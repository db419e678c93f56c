"""Rules over the dead letters of a job: which letter is of which rule, and what the rule does with it.

A letter is marked when it is written, by nothing but itself, so a batch that runs again marks it alike. Repaired letters are asked for
once their batch is committed, in a file named by the batch: whoever asks a second time asks for the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.jobs.repairs import meeting, repaired
from windrow.jobs.replays import ReplayLog
from windrow.model.fate import Fate
from windrow.model.notes import LetterRule
from windrow.plan.stages import Expect, Job
from windrow.spark.execution.dead_letters import SCHEMA
from windrow.storage import Folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Letter = Mapping[str, Any]


def letter_file(batch_id: int) -> str:
    """Where the dead letters of a batch are, in the folder of letters."""
    return f"batch-{batch_id:010d}.parquet"


@dataclass(frozen=True)
class Told:
    """What a rule wants to be told of: so many letters of one batch."""

    rule: LetterRule
    stream: str
    count: int

    @property
    def details(self) -> dict[str, Any]:
        return {"rule": self.rule.name, "label": self.rule.label or None, "stream": self.stream, "letters": self.count}

    @property
    def message(self) -> str:
        called = f" ({self.rule.label})" if self.rule.label else ""
        what, verb = ("dead letter", "is") if self.count == 1 else ("dead letters", "are")
        return f"{self.count:,} {what} of {self.stream} {verb} of rule {self.rule.name}{called}"


class Quarantine:
    """``letters`` is the folder that a job writes its dead letters to."""

    def __init__(self, spark: SparkSession, job: Job, letters: Folder, replays: ReplayLog) -> None:
        self._spark = spark
        self._job = job
        self._letters = letters
        self._replays = replays
        self._rules = {rule.name: rule for _, rule in job.letter_rules}

    def marked(self, letters: pa.Table) -> pa.Table:
        """Each letter with the first rule that admits it, in the order of the file."""
        if not self._rules or not letters.num_rows:
            return letters
        records = letters.to_pylist()
        for stream, rule in self._job.letter_rules:
            admitted = self._admitted(stream, rule, [record for record in records if record["rule"] is None])
            for record in records:
                if record["id"] in admitted:
                    record |= {"rule": rule.name, "label": rule.label or None, "held": rule.hold}
        return pa.Table.from_pylist(records, schema=SCHEMA)

    def _admitted(self, stream: str, rule: LetterRule, letters: Sequence[Letter]) -> frozenset[str]:
        meant = [letter for letter in letters if self._is_of(stream, letter) and (not rule.codes or letter["code"] in rule.codes)]
        if rule.condition is None or not meant:
            return frozenset(letter["id"] for letter in meant)
        return meeting(self._job, [dict(letter) for letter in meant], rule.condition, self._spark)

    def _is_of(self, stream: str, letter: Letter) -> bool:
        """Letters of a query are those of its constraints; of a source all that became of its rows, up to there."""
        is_query = isinstance(self._job.stage(stream), Expect)
        if is_query or letter["code"] == Fate.VIOLATION.code:
            return bool((letter["statement"] or letter["source"]) == stream)
        return bool(letter["source"] == stream)

    def settle(self, batch_id: int) -> tuple[Told, ...]:
        """A batch is committed: ask for what rules repair of its letters, and say what is to be told. It may be called again."""
        name = letter_file(batch_id)
        if not self._rules or not self._letters.exists(name):
            return ()
        letters = pq.read_table(BytesIO(self._letters.read(name))).to_pylist(maps_as_pydicts=None)
        returning: list[Letter] = []
        for rule in self._rules.values():
            own = [letter for letter in letters if letter.get("rule") == rule.name and self._may_return(rule, letter)]
            if rule.repair is not None and own:
                returning += repaired(self._job, own, rule.repair, self._spark)
        if returning:
            self._replays.ask_for(returning, by_rules_of=batch_id)
        counts = Counter(letter.get("rule") for letter in letters)
        return tuple(Told(rule, stream, counts[rule.name]) for stream, rule in self._job.letter_rules if rule.notify and counts[rule.name])

    def _may_return(self, rule: LetterRule, letter: Letter) -> bool:
        return letter["attempt"] <= rule.replays and can_return(self._job, letter)


def can_return(job: Job, letter: Letter) -> bool:
    """Whether a row was set aside before anybody saw it: by its source, or by the constraints of the statement that made it.

    What one statement set aside, others may have counted, unless it had made the row.
    """
    if letter["statement"] is None:
        return letter["source"] in {read.name for read in job.reads}
    is_judged = letter["statement"] in {stage.name for stage in job.stages if isinstance(stage, Expect)}
    return bool(letter["code"] == Fate.VIOLATION.code and is_judged)
