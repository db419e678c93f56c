"""A support bundle: all that helps somebody else to understand a job, in one zip, without its secrets and without its rows.

Its files under ``api/`` are the answers of the API, by path, so that the page shows a bundle as it shows a job. Rows, keys of groups and
logs, which may hold rows, are in it only for those who may see data.
"""

from __future__ import annotations

import io
import json
import platform
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from windrow.errors import WindrowError
from windrow.jobs.letters import LetterFilter
from windrow.lineage import lineage_of
from windrow.lineage.report import lineage_to_json
from windrow.observe.logs import masked
from windrow.server import job_views, letters
from windrow.server.job_views import JobFile
from windrow.server.secrets import Secrets, shown_text
from windrow.server.topology import topology_of
from windrow.settings import environment

FORMAT = 1
_BATCHES, _LETTERS = 500, 200
_ALL = LetterFilter(frozenset(), frozenset(), None, None, None, True)
README = """\
A support bundle of the Windrow job {name}, made at {at}.

Open it on the page of any Windrow server (Events, or the sign-in: "Open a support bundle"); nothing of it is sent anywhere.
sql/       the text of each version; values of secret options are ***
plan/      how the text that runs is run, as windrow explain has it
api/       what the API of the server answered, by path; and the plan
logs/      the ends of its logs {logs}
{rows}
"""
NO_ROWS = "Rows, keys of groups and logs are not in it: whoever made it may not see data, or did not want to give them."
Load = Callable[[], Any]


@dataclass(frozen=True)
class Bundle:
    """``answers`` are by path of the API, below /api/v1; what could not be had is told in ``missing``."""

    name: str
    with_rows: bool
    answers: Mapping[str, Any]
    texts: Mapping[str, str]
    missing: Mapping[str, str]

    def to_zip(self) -> bytes:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        note = {
            "format": FORMAT,
            "job": self.name,
            "at": at,
            "windrow": version("windrow"),
            "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.release()} {platform.machine()}",
            "has_rows": self.with_rows,
            "missing": dict(self.missing),
        }
        logs = "" if self.with_rows else "(none)"
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("README.txt", README.format(name=self.name, at=at, logs=logs, rows="" if self.with_rows else NO_ROWS))
            packed.writestr("bundle.json", json.dumps(note, indent=1))
            for path, told in self.answers.items():
                packed.writestr(f"api{path}.json", json.dumps(told, default=str))
            for path, text in self.texts.items():
                packed.writestr(path, text)
        return out.getvalue()


class Packing:
    """Gathers a bundle; every text that goes in has its secrets masked. One part that cannot be had keeps none of the others away."""

    def __init__(self, name: str, secrets: Secrets, *, with_rows: bool) -> None:
        self.name, self.with_rows = name, with_rows
        self._secrets = secrets
        self._answers: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        self._missing: dict[str, str] = {}

    def answer(self, path: str, load: Load) -> None:
        try:
            self._answers[path] = self._clean(json.loads(json.dumps(load(), default=str)))
        except (WindrowError, OSError, ValueError) as error:
            self._missing[path] = self._text(str(error))

    def text(self, path: str, load: Callable[[], str], *, is_sql: bool = False) -> None:
        """Of SQL, secret options are masked already, and a placeholder tells nothing: only values are looked for."""
        try:
            told = self._secrets.hidden(load())
            self._texts[path] = told if is_sql else masked(told)
        except (WindrowError, OSError, ValueError) as error:
            self._missing[path] = self._text(str(error))

    def done(self) -> Bundle:
        return Bundle(self.name, self.with_rows, self._answers, self._texts, self._missing)

    def _clean(self, told: Any) -> Any:
        if isinstance(told, str):
            return self._text(told)
        if isinstance(told, dict):
            return {key: self._clean(value) for key, value in told.items()}
        return [self._clean(one) for one in told] if isinstance(told, list) else told

    def _text(self, text: str) -> str:
        return masked(self._secrets.hidden(text))


def pack_views(packing: Packing, file: JobFile) -> None:
    """What the folder of a job says, whether it runs or not, on a server or beside a file."""
    at, rows = f"/deployments/{packing.name}", packing.with_rows
    packing.answer(f"{at}/topology", lambda: topology_of(file, _BATCHES))
    packing.answer(f"{at}/batches", lambda: job_views.batches(file, _BATCHES, None))
    packing.answer(f"{at}/windows", lambda: job_views.windows(file) if rows else list(_without_keys(job_views.windows(file))))
    packing.answer(f"{at}/analysis", lambda: job_views.analyses(file, _BATCHES, with_keys=rows))
    packing.answer(f"{at}/state", lambda: [job_views.open_state(one, None, 50 if rows else 0) for one in file.observed])
    packing.answer(f"{at}/state/versions", lambda: job_views.state_versions(file))
    packing.answer(f"{at}/dead-letters", lambda: letters.letters_of(file, _ALL, _LETTERS if rows else 0, 0))
    packing.answer(f"{at}/lineage", lambda: lineage_to_json(lineage_of(file.compiled.plan, f"{file.name}.sql")))
    packing.text("plan/explain.txt", file.compiled.explain)
    packing.answer("/plan", lambda: json.loads(file.compiled.explain("json")))


def pack_folder(file: JobFile, *, with_rows: bool) -> Bundle:
    """Of a job without a server: what its folder says, and enough around it for the page to show it."""
    source, at = file.compiled.script.source, int(datetime.now(UTC).timestamp() * 1000)
    written = source.text if source.written is None else source.written
    secrets = Secrets(environment())
    secrets.learn(written)
    packing = Packing(file.name, secrets, with_rows=with_rows)
    known = {"owner": "", "team": "", "tags": [], "description": "", "version": 1, "desired": "stopped", "observed": "folder", "why": ""}
    job = {"name": file.name, "pipeline": file.name, "env": "", **known, "changed_at": at}
    version = {"n": 1, "sql": shown_text(written), "project": "", "message": "", "author": "", "created_at": at}
    numbers = dict.fromkeys(("rows_in", "rows_per_second", "dead_letters", "watermark", "lag_seconds", "batch_seconds", "committed_at"))
    live = {"seq": 0, "at": at, "jobs": [{**job, **numbers}], "watched": [], "events": []}
    packing.answer(f"/deployments/{file.name}", lambda: {**job, "jobs": []})
    packing.answer(f"/pipelines/{file.name}/versions", lambda: [version])
    packing.answer("/live", lambda: live)
    packing.text(f"sql/{file.name}.sql", lambda: shown_text(written), is_sql=True)
    pack_views(packing, file)
    return packing.done()


def _without_keys(windows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in windows:
        yield {**one, "held": []}
