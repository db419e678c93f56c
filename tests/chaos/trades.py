"""Out-of-order trades with some late and some broken ones, a file a batch."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path


def write_trades(folder: Path, files: int, rows: int, seed: int) -> None:
    rng = random.Random(seed)
    folder.mkdir()
    at = 1_700_000_000_000
    for number in range(files):
        lines = []
        for _ in range(rows):
            at += 100
            late = 45_000 if rng.random() < 0.02 else 12_000 if rng.random() < 0.05 else rng.randrange(3000)
            row = {"symbol": rng.choice("ABC"), "price": round(rng.uniform(1, 100), 2), "ts": at - late}
            lines.append("{broken" if rng.random() < 0.01 else json.dumps(row))
        path = folder / f"{number:04d}.json"
        path.write_text("\n".join(lines) + "\n")
        # Files are taken in the order of their times.
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
