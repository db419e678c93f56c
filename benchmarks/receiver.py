"""The OTAP receiver: what a selective query saves, what discovery costs, and whether memory stays with the window.

``python -m benchmarks.receiver --gb 5`` makes the logs, then prints a table. Nothing here is asserted: machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc

from windrow.otap.covers import Covering
from windrow.otap.discovery import Discovery, TimeRule, covering
from windrow.otap.footers import FooterCache
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.places import Base
from windrow.otap.timing import Timing, Window, busy_windows
from windrow.otap.windows import Reading, WindowReader

TIMING = Timing()
_LENGTH, _RATE = 1200 * SECOND, 400
SELECTIVE = frozenset({"severity_number", "attributes"})


@dataclass(frozen=True)
class Work:
    """One way to read."""

    rows: int
    bytes: int
    seconds: float


def make_logs(base: Path, gigabytes: float) -> int:
    """About so many bytes, one exporter after another; gives the true number."""
    size = partition = 0
    while size < gigabytes * 1e9:
        made = Telemetry(seed=partition, signals=("logs",), length=_LENGTH, rows_per_second=_RATE, partitions=1)
        size += sum(file.path.stat().st_size for file in generate(made, base))
        partition += 1
    return size


def discovery_of(base: Path, cache: FooterCache) -> Discovery:
    return Discovery(Base(str(base)), cache, TIMING, TimeRule())


def windows_of(discovery: Discovery) -> list[Window]:
    ranges = [file.times for file in discovery.timed_files("logs") if file.times is not None]
    return list(busy_windows(TIMING, TIMING.window_at(min(low for low, _ in ranges)).start, max(high for _, high in ranges) + 1, ranges))


def read(base: Path, discovery: Discovery, windows: list[Window], reading: Reading, least_severity: int) -> Work:
    files, plans = discovery.timed_files("logs"), Covering(discovery, "logs", "batch_local")
    reader, rows, began = WindowReader(Base(str(base)), reading), 0, time.perf_counter()
    for window in windows:
        for cover in plans.covers(files, window):
            table = reader.read(cover)
            if table is not None:
                rows += pc.sum(pc.greater_equal(table["severity_number"], least_severity)).as_py() or 0
    return Work(rows, reader.seen.bytes, time.perf_counter() - began)


def many_files(base: Path, count: int) -> None:
    """Small files, as many as asked: copies of one, because only their number counts."""
    made = generate(Telemetry(signals=("logs",), length=60 * SECOND, rows_per_second=4, partitions=1), base / "sample")
    content = next(file.path for file in made if file.table == "logs").read_bytes()
    folder = base / "many" / "logs" / "_part_id=many"
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"part-{1_767_225_600_000 + number}-{number:032x}.parquet").write_bytes(content)


def discovery_seconds(base: Path, cache: Path) -> Iterator[float]:
    """Cold, then as the next run finds its cache on disk, then as the next trigger of the same run."""
    cold, next_run = FooterCache(cache), None
    for step in ("cold", "next run", "next look"):
        began = time.perf_counter()
        if step == "next run":
            next_run = FooterCache(cache)
        covering(discovery_of(base, next_run or cold).timed_files("logs"), Window(0, 1))
        yield time.perf_counter() - began


def memory_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=5.0, help="size of the logs with their attributes")
    parser.add_argument("--files", type=int, default=10_000, help="number of files for discovery")
    parser.add_argument("--work", type=Path, default=None, help="where to put the data; a temporary folder that is removed if not given")
    chosen = parser.parse_args()
    work = chosen.work or Path(tempfile.mkdtemp(prefix="windrow-receiver-"))
    try:
        run(work, chosen.gb, chosen.files)
    finally:
        if chosen.work is None:
            shutil.rmtree(work, ignore_errors=True)


def run(work: Path, gigabytes: float, files: int) -> None:
    data = work / "telemetry"
    # In a process of its own, so that the memory of making them is not counted.
    with ProcessPoolExecutor(1) as maker:
        size = maker.submit(make_logs, data, gigabytes).result()
    print(f"{size / 1e9:.2f} GB of logs with attributes")
    discovery = discovery_of(data, FooterCache(work / "footers.jsonl"))
    windows = windows_of(discovery)
    middle = windows[len(windows) // 2]
    one = read(data, discovery, [middle], Reading("logs", columns=SELECTIVE), 17)
    after_one = memory_mb()
    every = read(data, discovery, windows, Reading("logs"), 0)
    for name, own in (("one window, severity >= 17", one), (f"all {len(windows)} windows, every column", every)):
        print(f"{name:<34} {own.rows:>12,} rows  {own.bytes / 1e6:>9,.1f} MB read  {own.seconds:>8.2f} s")
    print(f"selective reads 1/{every.bytes / max(one.bytes, 1):.0f} of the bytes in 1/{every.seconds / one.seconds:.0f} of the time")
    print(f"greatest memory: {after_one:,} MB after one window, {memory_mb():,} MB after all {len(windows)}")
    many_files(work, files)
    cold, fresh, warm = discovery_seconds(work / "many", work / "many.jsonl")
    print(f"discovery of {files:,} files: {cold:.2f} s cold, {fresh:.2f} s with a cache from disk, {warm:.2f} s at the next look")


if __name__ == "__main__":
    main()
