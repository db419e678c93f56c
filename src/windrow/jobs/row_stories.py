"""What became of one row: the letter that was made of it, or the batch that took it. Starts no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from windrow.diagnosis.rows import why_set_aside, why_taken
from windrow.errors import UsageError
from windrow.jobs.history import JobHistory
from windrow.jobs.letters import read_letters
from windrow.jobs.observed import ObservedJob
from windrow.plan.stages import Read

NO_SUCH_STATEMENT, NO_SUCH_ROW = "WR654", "WR653"


@dataclass(frozen=True)
class RowStory:
    """``letter`` is the id of the dead letter that the row is, if it is one."""

    place: str
    lines: tuple[str, ...]
    letter: str = ""


def letters_of(jobs: Sequence[ObservedJob]) -> list[dict[str, Any]]:
    return [letter for one in jobs for found in read_letters(one.folder) for letter in found.records]


def letter_stories(letters: Sequence[dict[str, Any]], jobs: Sequence[ObservedJob]) -> Iterator[RowStory]:
    for letter in letters:
        names = {letter["statement"], letter["source"]}
        observed = next((one for one in jobs if names & {stage.name for stage in one.job.stages}), jobs[0])
        place = f"{letter['source']}, partition {letter['partition']}, offset {letter['offset']} (letter {letter['id']})"
        yield RowStory(place, tuple(why_set_aside(letter, observed.job)), letter["id"])


def row_stories(jobs: Sequence[ObservedJob], source: str, partition: int, offset: int, file: str) -> list[RowStory]:
    """Of the row at a place: one for each letter that was made of it, else one of the batch that took it."""
    found = [
        one for one in letters_of(jobs) if (one["source"].lower(), one["partition"], one["offset"]) == (source.lower(), partition, offset)
    ]
    if found:
        return list(letter_stories(found, jobs))
    observed, read = _read_of(jobs, source, file)
    lines = _taken(observed, read, partition, offset, file)
    return [RowStory(f"{read.name}, partition {partition}, offset {offset}", tuple(lines))]


def _read_of(jobs: Sequence[ObservedJob], source: str, file: str) -> tuple[ObservedJob, Read]:
    known = [(one, read) for one in jobs for read in one.job.reads]
    found = next(((one, read) for one, read in known if read.name.lower() == source.lower()), None)
    if found is None:
        hint = f"those of the file: {', '.join(read.name for _, read in known)}"
        raise UsageError(NO_SUCH_STATEMENT, f"there is no source called {source} in {file}", hint)
    return found


def _taken(observed: ObservedJob, read: Read, partition: int, offset: int, file: str) -> list[str]:
    """Of a row that is no letter: the batch that read it, by how far each batch had read."""
    number = observed.job.reads.index(read)
    reached: dict[int, int] = {}
    for batch, offsets in JobHistory(observed.job, observed.state).reached().items():
        topics = offsets[number].values() if number < len(offsets) else ()
        found = [each[str(partition)] for each in topics if isinstance(each, dict) and str(partition) in each]
        if len(found) == 1:
            reached[batch] = int(found[0])
    if not reached:
        message = f"which batch read a row of {read.name} cannot be told: {read.connector} does not number rows by partition and offset"
        hint = f"rows that were set aside are known: windrow dead-letters list {file}"
        raise UsageError(NO_SUCH_ROW, message, hint)
    most = max(reached.values())
    if offset >= most:
        message = f"partition {partition} of {read.name} has been read up to offset {most:,}, and {offset:,} is not before it"
        raise UsageError(NO_SUCH_ROW, message, f"the job has not read it yet: windrow why lag {file}")
    batch = min(number for number, upto in reached.items() if upto > offset)
    if batch == min(reached) and batch > 0:
        return [f"read by batch {batch} or before; it is no dead letter, and what came before is no longer kept"]
    record = next((one for one in observed.records() if one.batch_id == batch), None)
    return why_taken(observed.job, read, record, batch)
