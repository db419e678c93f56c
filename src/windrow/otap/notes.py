"""What a receiver remembers between runs: which files each window was made of, which files were seen, which rows came too late."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from windrow.otap.covers import Cover
from windrow.otap.timing import Window
from windrow.storage import LocalFolder

_PLANS, _READS = "plans", "reads"
_SEEN, _LATE, _FAULTS, _BEGIN, _AHEAD = "seen.jsonl", "late.jsonl", "faults.jsonl", "begin.json", "ahead.json"
FOOTERS = "footers.jsonl"


@dataclass(frozen=True)
class LateRows:
    """Rows of one file for one window that was handed over before the file was there."""

    file: str
    window: Window
    rows: int
    noticed_at: int


@dataclass(frozen=True)
class Plan:
    """The windows from ``start`` up to ``end`` and the files they are made of, fixed once they have been handed over."""

    start: int
    end: int
    covers: tuple[Cover, ...]


@dataclass(frozen=True)
class ReadReport:
    """What reading one share of a batch came to. ``missing`` are tables of which no file was there."""

    rows: int
    bytes: int
    ambiguous: int
    missing: tuple[str, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ahead:
    """What a receiver last saw beyond the windows in work: those that can be taken, those that cannot yet; rows that came late."""

    safe: int
    waiting: int
    late_rows: int


class Notes:
    """A folder of small files. Whole files are replaced at once; lists only grow, and a line torn by a kill is passed over."""

    def __init__(self, folder: Path, keep_plans: int = 500) -> None:
        self.folder = folder
        self._keep = keep_plans
        (folder / _PLANS).mkdir(parents=True, exist_ok=True)

    def begin(self) -> int | None:
        """Where the first window started."""
        path = self.folder / _BEGIN
        return int(json.loads(path.read_text())["begin"]) if path.exists() else None

    def save_begin(self, begin: int) -> None:
        self._replace(self.folder / _BEGIN, {"begin": begin})

    def ahead(self) -> Ahead | None:
        # It is for people to look at, and made anew at the next look.
        with suppress(OSError, ValueError, TypeError):
            return Ahead(**json.loads((self.folder / _AHEAD).read_text()))
        return None

    def save_ahead(self, ahead: Ahead) -> None:
        self._replace(self.folder / _AHEAD, asdict(ahead), durable=False)

    def plan(self, end: int) -> Plan | None:
        """The plan of the batch that ends there, if it was made before."""
        path = self._plan_path(end)
        return _plan(json.loads(path.read_text())) if path.exists() else None

    def plans(self) -> list[Plan]:
        """Those that are kept, in order."""
        return [_plan(json.loads(path.read_text())) for path in self._plan_paths()]

    def save_plan(self, plan: Plan) -> None:
        content = {"start": plan.start, "end": plan.end, "covers": [cover.to_json() for cover in plan.covers]}
        self._replace(self._plan_path(plan.end), content)
        for path in self._plan_paths()[: -self._keep]:
            self._drop_plan(path)

    def forget_plans(self, start: int) -> int:
        """Drop the plans of batches that begin at ``start`` or later, so that they are made anew; how many there were."""
        later = [plan for plan in self.plans() if plan.start >= start]
        for plan in later:
            self._drop_plan(self._plan_path(plan.end))
        return len(later)

    def reports(self) -> list[ReadReport]:
        """Of every share of the plans that are kept. A share that was read twice has one."""
        found = [json.loads(path.read_text()) for path in sorted((self.folder / _READS).glob("[!.]*.json"))]
        return [ReadReport(one["rows"], one["bytes"], one["ambiguous"], tuple(one["missing"]), one["faults"]) for one in found]

    def save_report(self, end: int, share: int, report: ReadReport) -> None:
        path = self.folder / _READS / f"{end:020d}-{share:05d}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._replace(path, {**asdict(report), "missing": list(report.missing)})

    def seen(self) -> set[str]:
        """The files that were there when a window was planned, or were counted as late since."""
        return {str(record["file"]) for record in self._lines(_SEEN)}

    def add_seen(self, files: Iterable[str]) -> None:
        self._append(_SEEN, [{"file": file} for file in files])

    def late(self) -> list[LateRows]:
        """Each file and window once, as noticed first: a kill between two notes may have left one twice."""
        found: dict[tuple[str, Window], LateRows] = {}
        for record in self._lines(_LATE):
            one = LateRows(record["file"], Window(*record["window"]), record["rows"], record["noticed_at"])
            found.setdefault((one.file, one.window), one)
        return list(found.values())

    def add_late(self, rows: Iterable[LateRows]) -> None:
        records = [{"file": r.file, "window": [r.window.start, r.window.end], "rows": r.rows, "noticed_at": r.noticed_at} for r in rows]
        self._append(_LATE, records)

    def forget_late(self, start: int) -> list[LateRows]:
        """Late rows of windows from ``start`` on, which are about to be read: they are no longer listed."""
        late = self.late()
        kept = [one for one in late if one.window.start < start]
        (self.folder / _LATE).unlink(missing_ok=True)
        self.add_late(kept)
        return [one for one in late if one.window.start >= start]

    def faults(self) -> dict[str, str]:
        """Files that cannot be read, and why. One that was mended since was noted again, with nothing wrong."""
        last = {str(record["file"]): str(record["fault"]) for record in self._lines(_FAULTS)}
        return {file: fault for file, fault in last.items() if fault}

    def unread(self) -> dict[str, str]:
        """The same, with those that were found damaged while their rows were read."""
        return {**{file: fault for report in self.reports() for file, fault in report.faults.items()}, **self.faults()}

    def add_faults(self, faults: dict[str, str]) -> None:
        self._append(_FAULTS, [{"file": file, "fault": fault} for file, fault in faults.items()])

    def _plan_path(self, end: int) -> Path:
        return self.folder / _PLANS / f"{end:020d}.json"

    def _drop_plan(self, path: Path) -> None:
        for report in (self.folder / _READS).glob(f"{path.stem}-*.json"):
            report.unlink()
        path.unlink()

    def _plan_paths(self) -> list[Path]:
        return sorted((self.folder / _PLANS).glob("[!.]*.json"))

    def _replace(self, path: Path, content: Any, *, durable: bool = True) -> None:
        LocalFolder(path.parent).replace_atomically(path.name, json.dumps(content).encode(), durable=durable)

    def _append(self, name: str, records: list[dict[str, Any]]) -> None:
        if not records:
            return
        with (self.folder / name).open("a", encoding="utf-8") as out:
            # After a torn line the next one starts on a line of its own.
            out.write("".join(f"\n{json.dumps(record)}" for record in records) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        path = self.folder / name
        if not path.exists():
            return
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = json.loads(line) if line else None
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def _plan(data: dict[str, Any]) -> Plan:
    return Plan(data["start"], data["end"], tuple(Cover.from_json(cover) for cover in data["covers"]))
