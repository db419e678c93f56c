"""Jobs that are known by their folders: for a server that has lost its registry, or has an old copy of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windrow.server.books import Books
from windrow.server.environments import find_environments
from windrow.server.job_folders import JobFolder, job_folders, read_note, write_note
from windrow.server.processes import known_process
from windrow.server.registry import PAUSED, RUNNING, STOPPED, Deployment, Desired, Pipeline, Registry, Version, now_millis
from windrow.server.texts import write_files


def note_deployment(folder: JobFolder, pipeline: Pipeline, deployment: Deployment) -> None:
    """All that the registry says of a deployment, and would have to be told again."""
    note = {
        "version": deployment.version,
        "desired": deployment.desired,
        "asked_at": deployment.asked_at,
        "owner": pipeline.owner,
        "team": pipeline.team,
        "tags": list(pipeline.tags),
        "group": pipeline.grp,
        "description": pipeline.description,
    }
    write_note(folder.card, note)


def find_jobs(root: Path, registry: Registry) -> None:
    """What the folders say and the registry does not know is taken into it; of two wishes the later one holds."""
    for name in find_environments(root, Books(registry.database)):
        told = "is protected: the registry did not say so, the folders do, or neither says anything"
        registry.add_event("environment.found", "", f"environment {name} {told}", "warning")
    for folder in job_folders(root):
        card = read_note(folder.card)
        _find(folder, card, registry)


def _find(folder: JobFolder, card: dict[str, Any], registry: Registry) -> None:
    known = registry.deployment(folder.name)
    asked_at = int(card.get("asked_at", 0))
    if known is not None and known.asked_at >= asked_at:
        return
    saved = list(folder.versions())
    if not saved:
        return
    if registry.pipeline(folder.pipeline) is None:
        owner, description, team = (str(card.get(key, "")) for key in ("owner", "description", "team"))
        tags = [str(tag) for tag in card.get("tags", ())]
        registry.put_pipeline(folder.pipeline, owner, description, team, tags, str(card.get("group", "")))
    for one in saved:
        note = one.note
        made_at = int(note.get("created_at", now_millis()))
        said = (str(note.get("message", "found in its folder")), str(note.get("author", "")))
        files = write_files(tuple(sorted(one.files.items())))
        registry.put_version(Version(folder.pipeline, one.n, one.sql, *said, made_at, one.project, files))
    process = known_process(folder)
    told_to: object = card.get("desired")
    wanted: Desired = RUNNING if told_to == RUNNING else PAUSED if told_to == PAUSED else STOPPED
    if told_to is None and process is not None and process.is_alive:
        wanted = RUNNING
    registry.want(folder.pipeline, wanted, int(card.get("version", saved[-1].n)), folder.env, asked_at or None)
    registry.add_event("job.found", folder.name, "found by its folder; the registry did not know it, or knew less", "warning")
