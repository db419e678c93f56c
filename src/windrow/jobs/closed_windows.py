"""The history of a job: what its windows said, in files beside the state, for as long as is wanted.

A batch writes one file for each statement whose windows said something, before it commits; one that runs again writes the same file. A
window that speaks again is in several files, and whoever reads them takes its newest row. Files are put together when there are many of
them, and removed when all that is in them is too old.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from windrow.jobs.options import RunOptions
from windrow.model.row_protocol import EMISSION, END, KEY, REVISION, START
from windrow.model.window_kinds import CountedKind, MovingKind
from windrow.plan.stages import Aggregate, Job
from windrow.spark.execution.batch import BatchResult
from windrow.storage import Folder, StorageError, folder_name
from windrow.storage.parquet import read_parquet
from windrow.windowing.columns import RETRACT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HISTORY = "history"
KEEP_SECONDS, MOST_BYTES = "state.history.seconds", "state.history.max_bytes"
BATCH = "_batch"
_TOLD_APART_BY = (KEY, START, END)
# What stands behind the columns of the statement.
BESIDE = (START, END, KEY, EMISSION, REVISION)
_NUMBER, _LATER = "_number_of_row", "_later_row"
# So many files of one size are put together.
_MANY = 64
_NAME = re.compile(r"(\d+)-(\d+)-(-?\d+)\.parquet")


@dataclass(frozen=True, order=True)
class HistoryFile:
    """``first`` and ``last`` are the batches whose rows it has, ``newest`` the greatest end of their windows, in microseconds."""

    first: int
    last: int
    newest: int

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.last:010d}-{self.newest}.parquet"

    @property
    def level(self) -> int:
        """How often its like were put together.

        >>> HistoryFile(7, 7, 0).level, HistoryFile(0, 63, 0).level, HistoryFile(0, 4095, 0).level
        (0, 1, 2)
        """
        level, span = 0, self.last - self.first + 1
        while span >= _MANY:
            level, span = level + 1, span // _MANY
        return level


def kept_statements(job: Job) -> tuple[Aggregate, ...]:
    """Those whose windows lie in time: a window of so many rows is told from another by nothing that is kept."""
    windowed = (stage for stage in job.stages if isinstance(stage, Aggregate) and stage.window is not None and "/" not in stage.name)
    return tuple(stage for stage in windowed if not isinstance(stage.window, CountedKind))


class WindowKeeper:
    """Writes the history of a job. ``seconds`` of event time are kept, counted back from the newest window, and so many bytes at most.

    A job may be taken back by ``retained`` batches: what these said stays in files of their own, or a later word would hide it.
    """

    def __init__(self, spark: SparkSession, job: Job, folder: Folder, seconds: int, most_bytes: int | None, retained: int) -> None:
        self._spark = spark
        self._stages = kept_statements(job)
        self._folder = folder.child(HISTORY)
        self._micros = seconds * 1_000_000
        self._most_bytes = most_bytes
        self._retained = retained
        self._files: dict[str, list[HistoryFile]] = {}
        self._sizes: dict[tuple[str, HistoryFile], int] = {}

    @property
    def bytes(self) -> int:
        # Whoever asks for the status does so from another thread.
        return sum(tuple(self._sizes.values()))

    def open(self, committed: int) -> None:
        """What batches after ``committed`` wrote, they write again, or they were taken back."""
        self._sizes.clear()
        for stage in self._stages:
            folder = self._of(stage)
            self._files[stage.name] = []
            for file in files_in(folder):
                if file.last > committed:
                    if file.first <= committed:
                        self._write(stage, file.first, committed, _read(folder, [file]).filter(pl.col(BATCH) <= committed))
                    folder.remove(file.name)
                else:
                    self._note(stage, file, folder.status(file.name).size)

    def write(self, result: BatchResult) -> None:
        """What the windows of a batch said; to be called again without effect."""
        for stage in self._stages:
            flow = result.outputs.get(stage.name)
            table = None if flow is None else flow.as_table(self._spark)
            if flow is None or table is None or not table.num_rows:
                continue
            names = [*flow.columns, *(name for name in BESIDE if name not in flow.columns)]
            rows = pl.from_arrow(table.select(names))
            assert isinstance(rows, pl.DataFrame)
            self._write(stage, result.batch_id, result.batch_id, rows.with_columns(pl.lit(result.batch_id).cast(pl.Int64).alias(BATCH)))

    def tidy(self, batch_id: int) -> None:
        """After a batch: put together what has become many, and let go of what is too old or too much."""
        for stage in self._stages:
            self._put_together(stage, batch_id - self._retained)
            newest = max((file.newest for file in self._files[stage.name]), default=0)
            for file in [one for one in self._files[stage.name] if one.newest < newest - self._micros]:
                self._remove(stage, file)
        while self._most_bytes is not None and self.bytes > self._most_bytes and len(self._sizes) > 1:
            name, oldest = min(self._sizes, key=lambda one: one[1].newest)
            self._remove(next(stage for stage in self._stages if stage.name == name), oldest)

    def _put_together(self, stage: Aggregate, up_to: int) -> None:
        folder = self._of(stage)
        for level in sorted({file.level for file in self._files[stage.name]}):
            same = sorted(file for file in self._files[stage.name] if file.level == level and file.last <= up_to)[:_MANY]
            if len(same) < _MANY:
                continue
            self._write(stage, same[0].first, same[-1].last, _read(folder, same))
            # A crash before this leaves rows twice, of which whoever reads takes one.
            for file in same:
                if file in self._files[stage.name]:
                    self._remove(stage, file)

    def _write(self, stage: Aggregate, first: int, last: int, rows: pl.DataFrame) -> None:
        """A row that takes a window back stays: an older file may have the window."""
        if not rows.height:
            return
        newest = rows.select(pl.col(END).dt.epoch("us").max()).item()
        file, buffer = HistoryFile(first, last, newest), BytesIO()
        newest_rows(rows, stage, keeps_retracted=True).write_parquet(buffer)
        self._of(stage).replace_atomically(file.name, buffer.getvalue())
        self._note(stage, file, buffer.tell())

    def _note(self, stage: Aggregate, file: HistoryFile, size: int) -> None:
        if file not in self._files[stage.name]:
            self._files[stage.name].append(file)
        self._sizes[stage.name, file] = size

    def _remove(self, stage: Aggregate, file: HistoryFile) -> None:
        self._of(stage).remove(file.name)
        self._files[stage.name].remove(file)
        del self._sizes[stage.name, file]

    def _of(self, stage: Aggregate) -> Folder:
        return self._folder.child(folder_name(stage.name))


def window_keeper(spark: SparkSession, job: Job, folder: Folder, options: RunOptions) -> WindowKeeper | None:
    """None where nothing is to be kept."""
    seconds = options.limit(KEEP_SECONDS)
    if seconds is None or not kept_statements(job):
        return None
    return WindowKeeper(spark, job, folder, seconds, options.limit(MOST_BYTES), int(options.setting("state.retain.batches")))


def files_in(folder: Folder) -> list[HistoryFile]:
    """Oldest first."""
    return sorted(_files(folder.names() if folder.entries() else []))


def _files(names: list[str]) -> Iterator[HistoryFile]:
    for name in names:
        if (found := _NAME.fullmatch(name)) is not None:
            yield HistoryFile(int(found[1]), int(found[2]), int(found[3]))


def history_of(job_folder: Folder, stage: Aggregate) -> pl.DataFrame | None:
    """The newest row of every window of a statement that is kept: of closed ones the last word, of open ones what they said early.

    None where nothing was ever kept. A job that runs may remove a file meanwhile, whose rows are then in another: the reader begins again.
    """
    folder = job_folder.child(HISTORY).child(folder_name(stage.name))
    for _ in range(_TRIES):
        files = files_in(folder)
        if not files:
            return None
        try:
            return newest_rows(_read(folder, files), stage)
        except StorageError:
            if files_in(folder) == files:
                raise
    return newest_rows(_read(folder, files_in(folder)), stage)


_TRIES = 5


def bytes_of(job_folder: Folder, stage: Aggregate) -> int:
    folder = job_folder.child(HISTORY).child(folder_name(stage.name))
    return sum(folder.status(file.name).size for file in files_in(folder))


def _read(folder: Folder, files: list[HistoryFile]) -> pl.DataFrame:
    frames = (pl.from_arrow(read_parquet(folder.read(file.name))) for file in files)
    # A later text of the statement may have other columns.
    return pl.concat([frame for frame in frames if isinstance(frame, pl.DataFrame)], how="diagonal_relaxed")


def newest_rows(rows: pl.DataFrame, stage: Aggregate, *, keeps_retracted: bool = False) -> pl.DataFrame:
    """One row for each window, by its start: the newest. Windows that were taken back are none.

    A session that grew has other bounds than before, so there a later row replaces those of its group that it overlaps.
    """
    found = rows.sort(BATCH, REVISION, maintain_order=True).unique(list(_TOLD_APART_BY), keep="last", maintain_order=True)
    if isinstance(stage.window, MovingKind):
        placed = found.with_row_index(_NUMBER)
        later = placed.select(KEY, pl.col(_NUMBER).alias(_LATER), pl.col(START).alias("_s"), pl.col(END).alias("_e"))
        pairs = placed.join(later, on=KEY, nulls_equal=True)
        replaced = pairs.filter((pl.col(_LATER) > pl.col(_NUMBER)) & (pl.col("_s") < pl.col(END)) & (pl.col(START) < pl.col("_e")))
        found = placed.join(replaced.select(_NUMBER).unique(), on=_NUMBER, how="anti").drop(_NUMBER)
    if not keeps_retracted:
        found = found.filter(pl.col(EMISSION) != RETRACT)
    return found.sort(START, END, KEY, nulls_last=True)
