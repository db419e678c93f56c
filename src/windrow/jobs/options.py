"""How a run is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Mode = Literal["continuous", "once", "until_end"]

# Settings of our own that --set takes beside Spark's; each with its default and meaning.
RUN_SETTINGS: dict[str, tuple[str, str]] = {
    "state.snapshot.every": ("20", "a full snapshot of the state every so many batches; between them, only changes are written"),
    "state.retain.batches": ("100", "how many batches back the state can be read"),
}


@dataclass(frozen=True)
class RunOptions:
    """``once`` takes what is there and leaves windows open; ``until_end`` treats the input as bounded and closes them."""

    mode: Mode = "continuous"
    state: Path | str = Path(".windrow/state")
    master: str = "local[*]"
    settings: Mapping[str, str] = field(default_factory=dict)
    trigger_interval_ms: int = 0

    def setting(self, key: str) -> str:
        return self.settings.get(key, RUN_SETTINGS[key][0])

    @property
    def spark_settings(self) -> dict[str, str]:
        return {key: value for key, value in self.settings.items() if key not in RUN_SETTINGS}
