"""Where the rows of the system tables come from: this server, or folders of state without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from windrow.compiler import compile_sql
from windrow.errors import WindrowError
from windrow.jobs.event_watch import EventReader
from windrow.jobs.identity import CARD, read_card
from windrow.lineage import Lineage, lineage_of
from windrow.server.alert_book import AlertBook
from windrow.server.api.live import summary
from windrow.server.job_views import JobFile, job_file
from windrow.server.service import Service
from windrow.settings import environment
from windrow.storage.local import LocalFolder

_MOST_EVENTS, _MOST_ALERTS = 10_000, 5000


class ServerWorld:
    def __init__(self, service: Service, alerts: AlertBook) -> None:
        self._service, self._alerts = service, alerts

    def jobs(self) -> Iterable[Mapping[str, Any]]:
        return [{**summary(job), "pipeline": job.pipeline.name} for job in self._service.jobs()]

    def files(self) -> Iterator[JobFile]:
        for deployment in self._service.registry.deployments():
            try:
                yield job_file(self._service, deployment.name)
            except WindrowError:
                continue

    def events(self) -> Iterable[Mapping[str, Any]]:
        return [asdict(one) for one in self._service.registry.events(0, None, _MOST_EVENTS, newest=True)]

    def alerts(self) -> Iterable[Mapping[str, Any]]:
        return [asdict(one) for one in (*self._alerts.active(), *self._alerts.over(_MOST_ALERTS))]

    def lineage(self) -> Lineage:
        return Lineage.together(one.lineage for one in self._service.members())


class LocalWorld:
    """Jobs that ran here without a server: each folder below ``root`` has the states of one file, or an environment's files."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self) -> Iterator[JobFile]:
        for state in sorted({card.parent.parent for card in self._root.glob("**/job.json")}):
            cards = [read_card(LocalFolder(card.parent)) for card in sorted(state.glob(f"*/{CARD}"))]
            # Jobs are called after their file.
            texts = {(str(card["job"]).partition(".")[0], str(card.get("sql", ""))) for card in cards}
            for file, text in sorted(texts):
                try:
                    yield JobFile(state.name, compile_sql(text, f"{file}.sql", environment()), LocalFolder(state))
                except WindrowError:
                    # What it was made by is gone: a variable, a module.
                    continue

    def jobs(self) -> Iterator[Mapping[str, Any]]:
        for file in self.files():
            for observed in file.observed:
                records = observed.records()
                sums = {"rows_in": sum(one.rows_in for one in records), "batch_id": records[-1].batch_id if records else None}
                dead = sum(sum(one.dead_letters.values()) for one in records)
                state = records[-1].state_bytes if records else None
                yield {
                    "name": file.name,
                    "pipeline": file.name,
                    "observed": observed.standing,
                    **sums,
                    "dead_letters": dead,
                    "state_bytes": state,
                }

    def events(self) -> Iterator[Mapping[str, Any]]:
        for file in self.files():
            for observed in file.observed:
                for number, event in enumerate(EventReader(observed.folder).more()):
                    yield {**event, "seq": number, "at": _millis(str(event["at"])), "pipeline": event["job"]}

    def alerts(self) -> Iterable[Mapping[str, Any]]:
        """They are a server's affair."""
        return []

    def lineage(self) -> Lineage:
        return Lineage.together(lineage_of(file.compiled.plan, file.name) for file in self.files())


def _millis(at: str) -> int:
    """
    >>> _millis("1970-01-01T00:00:01.500+00:00")
    1500
    """
    from datetime import datetime

    return int(datetime.fromisoformat(at).timestamp() * 1000)
