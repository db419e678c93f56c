"""A folder of made-up telemetry."""

from __future__ import annotations

from pathlib import Path

from windrow.otap.generate.logs import make_logs
from windrow.otap.generate.metrics import make_metrics
from windrow.otap.generate.numbering import joined, number_in_partition
from windrow.otap.generate.settings import Telemetry
from windrow.otap.generate.spans import make_spans
from windrow.otap.generate.writing import MadeFile, write_partition

_MAKERS = {"logs": make_logs, "traces": make_spans, "metrics": make_metrics}


def generate(made: Telemetry, base: Path, late_base: Path | None = None) -> list[MadeFile]:
    """Write the files under ``base``, in the order in which the exporter would have shown them; late ones under ``late_base``."""
    files: list[MadeFile] = []
    for partition in range(made.partitions):
        frames = number_in_partition(joined(_MAKERS[signal](made, partition) for signal in made.signals), made.ids)
        files += write_partition(made, partition, frames, base, late_base or base)
    return sorted(files, key=lambda file: (file.visible_at, str(file.path)))
