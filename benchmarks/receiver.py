"""The OTAP receiver: what a selective query saves, what discovery costs, and whether memory stays with the window.

``python -m benchmarks.receiver --gb 5`` makes the logs, then prints a table. Nothing here is asserted: machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.compute as pc

from benchmarks.results import save
from windrow.otap.covers import Covering
from windrow.otap.discovery import Discovery, TimeRule
from windrow.otap.footers import FooterCache
from windrow.otap.generate.settings import SECOND, Telemetry
from windrow.otap.generate.telemetry import generate
from windrow.otap.layout import Base
from windrow.otap.notes import FOOTERS, Notes
from windrow.otap.receiver import Receiver, Wanted
from windrow.otap.tables import PART_ID
from windrow.otap.timing import Timing, Window
from windrow.otap.windows import Reading, WindowReader

T = TypeVar("T")
_ALL = 10**6
TIMING = Timing()
SELECTIVE = frozenset({"severity_number", "attributes"})
# One exporter: about 190 MB in 400 files, over 50 minutes.
_EXPORTER = Telemetry(signals=("logs",), length=3000 * SECOND, rows_per_second=160, file_length=30 * SECOND, partitions=1, more_text=300)
_SMALL = Telemetry(
    signals=("logs",), length=1010 * SECOND, rows_per_second=40, batch_length=SECOND, file_length=5 * SECOND, drift=SECOND, latency=SECOND
)


@dataclass
class Work:
    """One way to read. ``windows`` is how many of them had rows; times are seconds of this process on a processor.

    Those do not depend on what else the machine does, as the time on the wall would.
    """

    rows: int = 0
    bytes: int = 0
    windows: int = 0
    finding: float = 0.0
    reading: float = 0.0

    @property
    def seconds(self) -> float:
        return self.finding + self.reading

    def times(self, factor: float) -> Work:
        return Work(
            round(self.rows * factor),
            round(self.bytes * factor),
            round(self.windows * factor),
            self.finding * factor,
            self.reading * factor,
        )


def make_logs(base: Path, gigabytes: float) -> int:
    """About so many bytes; gives the true number. Two exporters are made, the others are copies of them, which are quicker to write."""
    made = [generate(replace(_EXPORTER, seed=seed), base) for seed in range(2)]
    size = sum(file.path.stat().st_size for files in made for file in files)
    copies = 0
    while size < gigabytes * 1e9:
        for file in made[copies % 2]:
            target = base / file.table / f"{PART_ID}=copy-{copies}" / file.path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file.path, target)
            size += target.stat().st_size
        copies += 1
    return size


def read_windows(base: Path, notes: Path, timing: Timing, start: str | int, most: int, at_windows: dict[int, int] | None = None) -> Work:
    """Windows with every column, as the receiver of a job takes them; ``at_windows`` is filled with the memory after so many of them."""
    reading = Reading("logs")
    wanted = Wanted(reading.table, timing, reading.rule, reading.ids, start, is_ended=True)
    receiver, reader = Receiver(Base(str(base)), wanted, Notes(notes), time.time_ns), WindowReader(Base(str(base)), reading)
    done, work = None, Work()
    while work.windows < most:
        began = time.process_time()
        until = receiver.advance(done)
        if until is None or until == done:
            break
        covers = receiver.plan(done, until)
        found = time.process_time()
        work.rows += sum(0 if table is None else table.num_rows for table in map(reader.read, covers))
        work.finding += found - began
        work.reading += time.process_time() - found
        work.windows += bool(covers)
        done = until
        if at_windows is not None and work.windows in at_windows:
            at_windows[work.windows] = memory_mb()
    work.bytes = reader.seen.bytes
    return work


def read_window(base: Path, footers: Path, window: Window, reading: Reading, least_severity: int) -> Work:
    """One window with a condition, by somebody who has known the footers before."""
    began = time.process_time()
    discovery = Discovery(Base(str(base)), FooterCache(footers), TIMING, TimeRule())
    covers = Covering(discovery, reading.table, reading.ids).covers(discovery.timed_files(reading.table), window)
    found = time.process_time()
    reader, work = WindowReader(Base(str(base)), reading), Work(windows=1)
    for table in map(reader.read, covers):
        if table is not None:
            work.rows += pc.sum(pc.greater_equal(table["severity_number"], least_severity)).as_py() or 0
    work.bytes, work.finding, work.reading = reader.seen.bytes, found - began, time.process_time() - found
    return work


def looks(base: Path, footers: Path) -> tuple[int, list[float]]:
    """How many files there are, and how long all of them take to be known: at first, in the next run, at the next look of it."""

    def open_folder() -> Discovery:
        return Discovery(Base(str(base)), FooterCache(footers), TIMING, TimeRule())

    def look(discovery: Discovery) -> int:
        below = [discovery.files_by_id(table, "parent_id") for table in ("log_attrs", "resource_attrs", "scope_attrs")]
        return len(discovery.timed_files("logs")) + sum(len(files) for by_part in below for files in by_part.values())

    def seconds(action: Callable[[], object]) -> float:
        began = time.process_time()
        action()
        return time.process_time() - began

    cold, fresh = seconds(lambda: look(open_folder())), seconds(lambda: look(open_folder()))
    discovery = open_folder()
    count = look(discovery)
    return count, [cold, fresh, seconds(lambda: look(discovery))]


def memory_mb() -> int:
    """What the process holds now, or held at most where the system does not say."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS"))) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def memory_over_windows(work: Path) -> dict[int, int]:
    generate(_SMALL, work / "small")
    seen = dict.fromkeys((1, 100, 250, 500, 750, 1000), 0)
    read_windows(work / "small", work / "small.notes", replace(TIMING, window_granularity=SECOND), "earliest", 1000, seen)
    return seen


def greatest_memory(base: Path, footers: Path, window: Window) -> int:
    read_window(base, footers, window, Reading("logs"), 0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def run(work: Path, gigabytes: float, most: int) -> list[tuple[str, ...]]:
    """The rows of the table of results."""
    data, footers = work / "telemetry", work / "footers.jsonl"
    if not data.exists():
        began = time.perf_counter()
        size = apart(make_logs, data, gigabytes)
        print(f"{size / 1e9:.2f} GB of logs with attributes, made in {time.perf_counter() - began:.0f} s", flush=True)
    count, (cold, fresh, warm) = looks(data, footers)
    print(
        f"{count:,} files are known after {cold:.2f} s at first, {fresh:.2f} s in the next run, {warm:.2f} s at its next look", flush=True
    )
    middle = TIMING.window_at(_EXPORTER.start + _EXPORTER.length // 2)
    one = read_window(data, footers, middle, Reading("logs", columns=SELECTIVE), 17)
    table = [show("one window, severity >= 17", one)]
    # Footers are read once in the life of a job: what is asked is what finding files costs after that.
    (work / "notes").mkdir(exist_ok=True)
    shutil.copyfile(footers, work / "notes" / FOOTERS)
    every = read_windows(data, work / "notes", TIMING, middle.start if most < _ALL else "earliest", most)
    if most < _ALL:
        show("some windows, every column", every)
        every = every.times(_EXPORTER.length / TIMING.window_granularity / every.windows)
    table.append(show("all windows, every column", every))
    print(
        f"selective reads 1/{every.bytes / max(one.bytes, 1):.0f} of the bytes in 1/{every.seconds / one.seconds:.0f} of the time",
        flush=True,
    )
    lengths = {minutes: Window(middle.start, middle.start + minutes * 60 * SECOND) for minutes in (1, 4)}
    greatest = {minutes: apart(greatest_memory, data, footers, window) for minutes, window in lengths.items()}
    print(
        "greatest memory by length of a window:", ", ".join(f"{minutes} min {held:,} MB" for minutes, held in greatest.items()), flush=True
    )
    held = apart(memory_over_windows, work)
    print("memory after so many small windows:", ", ".join(f"{number:,}: {own:,} MB" for number, own in held.items()))
    return table


def show(name: str, own: Work) -> tuple[str, ...]:
    share = 100 * own.finding / own.seconds
    print(
        f"{name:<28} {own.windows:>4} windows {own.rows:>12,} rows {own.bytes / 1e6:>9,.1f} MB read {own.seconds:>8.2f} s, "
        f"{share:.1f} % of it finding files",
        flush=True,
    )
    return name, f"{own.rows:,}", f"{own.bytes / 1e6:,.0f} MB", f"{own.seconds:.1f}", f"{share:.1f} %"


def apart(action: Callable[..., T], *given: Any) -> T:
    """In a process of its own, so that memory is not mixed up; begun afresh, because a fork would not have this one's threads."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(action, *given).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, default=5.0, help="size of the logs with their attributes")
    parser.add_argument(
        "--windows", type=int, default=_ALL, help="read so many in the middle and reckon the others from them; all if not given"
    )
    parser.add_argument(
        "--work",
        type=Path,
        default=None,
        help="where to put the data; data that is there is read again; a temporary folder that is removed if not given",
    )
    parser.add_argument("--save", action="store_true", help="write the figures down for docs/performance.md")
    chosen = parser.parse_args()
    work = chosen.work or Path(tempfile.mkdtemp(prefix="windrow-receiver-"))
    try:
        measured = run(work, chosen.gb, chosen.windows)
    finally:
        if chosen.work is None:
            shutil.rmtree(work, ignore_errors=True)
    if chosen.save:
        title = f"{chosen.gb:g} GB of logs with attributes, by windows of a minute"
        columns = ("what", "rows", "read", "seconds on a processor", "of it finding files")
        print(save("receiver", title, columns, measured))


if __name__ == "__main__":
    main()
