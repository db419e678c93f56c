"""When a group emits before its window closes, and what is remembered for that."""

from __future__ import annotations

from dataclasses import dataclass

WHEN = "_when"  # whether a row satisfies TRIGGER WHEN
EMITTED_AT = "_emitted_at"  # arrival time of the last emission, or of the first row where there was none
DIRTY = "_dirty"  # whether rows came after the last emission


@dataclass(frozen=True)
class EmitPolicy:
    """When a pane emits. ``every_row`` is EMIT CHANGES; ``per_batch`` keeps only the last of these in a batch; ``once`` is DISTINCT."""

    every_row: bool = False
    per_batch: bool = False
    on_close: bool = False
    every_records: int | None = None
    when: bool = False
    interval: int | None = None
    once: bool = False

    @property
    def by_row(self) -> bool:
        """Whether single rows make a window emit, so that each must be seen by itself."""
        return self.every_row or self.every_records is not None or self.when or self.once

    @property
    def is_early(self) -> bool:
        """Whether triggers make a window emit before it closes."""
        return self.every_records is not None or self.when or self.interval is not None


AT_CLOSE = EmitPolicy(on_close=True)
