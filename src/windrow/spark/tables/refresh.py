"""Tables that are kept fresh: between two batches the source is asked what has changed since it was last asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from windrow.connectors.runtime import SourceStream
from windrow.plan.physical import PhysicalPlan
from windrow.plan.physical.strategies import Load
from windrow.plan.stages import LoadTable, Read
from windrow.resilience import StoppedWaitingError
from windrow.spark.tables.reference_tables import Loaded, ReferenceTables
from windrow.spark.tables.versions import BASE, PART, WHOLE, TableVersion, TableVersions

OpenTable = Callable[[Read, str | None], SourceStream]
# After a refresh that failed the next one comes sooner than its time, but not at once.
_AFTER_FAILURE = 30.0


@dataclass
class _Fresh:
    """What is known of one table between two refreshes. ``unsaved`` is a load that no batch has seen yet."""

    table: LoadTable
    due: float = 0.0
    offset: str | None = None
    unsaved: Loaded | None = None
    trouble: str | None = None
    is_changed: bool = False


class TableRefresh:
    """``planned`` is the last batch that was begun before this start: up to it, tables are as they were then."""

    def __init__(
        self,
        plan: PhysicalPlan,
        tables: ReferenceTables,
        versions: TableVersions,
        open_table: OpenTable,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        refreshed = (spec.stage for spec in plan if spec.chosen(Load) is Load.REFRESHED)
        self._fresh = {table.name: _Fresh(table) for table in refreshed if isinstance(table, LoadTable)}
        self._tables = tables
        tables.refreshed = frozenset(self._fresh)
        self._versions = versions
        self._open = open_table
        self._clock = clock
        self._planned = -1

    def restore(self, committed: int, planned: int) -> set[str]:
        """Put the tables together as the last batch saw them. Gives the names of those that need no load."""
        self._planned = planned
        restored = set()
        for name, fresh in self._fresh.items():
            self._versions.forget_after(name, planned)
            for version in self._versions.load(name, planned):
                if version.kind == BASE:
                    self._tables.put(name, version.rows)
                else:
                    # What an unfinished batch had loaded is recorded by that batch, which runs again.
                    is_whole, is_counted = version.kind == WHOLE, version.batch_id > committed
                    self._tables.absorb(name, version.rows, is_whole=is_whole, is_counted=is_counted, gone=version.gone)
                fresh.offset = version.offset
                restored.add(name)
        return restored

    def note_loaded(self, loads: list[Loaded]) -> None:
        """Tables that were loaded as the job started; they become durable with the next batch."""
        for loaded in loads:
            if loaded.name in self._fresh:
                fresh = self._fresh[loaded.name]
                fresh.offset, fresh.unsaved = loaded.offset, loaded
                self._set_due(fresh, fresh.table.refresh)

    def before_batch(self, batch_id: int) -> None:
        for fresh in self._fresh.values():
            if fresh.unsaved is None and batch_id > self._planned and self._clock() >= fresh.due:
                fresh.unsaved = self._ask(fresh)
            if fresh.unsaved is not None:
                self._take(fresh, fresh.unsaved, batch_id)

    def after_batch(self, batch_id: int) -> None:
        for name, fresh in self._fresh.items():
            held = self._tables.held(name)
            if fresh.is_changed and held is not None:
                self._versions.settle(name, batch_id, held, fresh.offset)
                fresh.is_changed = False

    def troubles(self) -> dict[str, str]:
        """Why the last refresh of a table failed, by its name."""
        return {name: fresh.trouble for name, fresh in self._fresh.items() if fresh.trouble is not None}

    def _ask(self, fresh: _Fresh) -> Loaded | None:
        """What has changed, or None: nothing, or the source does not answer and the rows that are there stay in force."""
        read = fresh.table.read
        try:
            stream = self._open(read, fresh.offset)
            loaded = None if stream.is_unchanged else self._tables.read(fresh.table, stream)
        except StoppedWaitingError:
            raise
        except Exception as error:
            self._failed(fresh, error)
            return None
        fresh.trouble = None
        fresh.offset = stream.offset
        self._set_due(fresh, fresh.table.refresh)
        return loaded

    def _take(self, fresh: _Fresh, loaded: Loaded, batch_id: int) -> None:
        name = fresh.table.name
        kind = PART if loaded.is_increment else WHOLE
        # Durable before any row is joined with it: should the batch not come to its end, the next run finds it.
        self._versions.save(name, TableVersion(batch_id, kind, loaded.rows, loaded.offset, loaded.gone))
        if not loaded.is_taken:
            self._tables.absorb(name, loaded.rows, is_whole=not loaded.is_increment, gone=loaded.gone)
        fresh.unsaved, fresh.is_changed = None, True

    def _failed(self, fresh: _Fresh, error: Exception) -> None:
        lines = str(getattr(error, "message", "") or error).strip().splitlines()
        fresh.trouble = lines[0] if lines else type(error).__name__
        self._set_due(fresh, min(fresh.table.refresh or 0, int(_AFTER_FAILURE * 1_000_000)))

    def _set_due(self, fresh: _Fresh, micros: int | None) -> None:
        fresh.due = self._clock() + (micros or 0) / 1_000_000
