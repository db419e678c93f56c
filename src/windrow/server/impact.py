"""What a changed text does to those who read its outputs: ``windrow impact``, of a text against the deployed one."""

from __future__ import annotations

from typing import Any

from windrow.groups import Member, Verdict
from windrow.groups.effects import Effect, Impact
from windrow.groups.impact import impact
from windrow.server.registry import Token
from windrow.server.service import Service, member_of
from windrow.server.texts import Text


def impact_of(service: Service, text: Text, who: Token) -> dict[str, Any]:
    """Changes and whom they affect; by output, each of its columns with a verdict; by job, the worst of what comes to it."""
    name = text.deployment
    new = member_of(service.look_at(text, who), name)
    if service.registry.deployment(name) is None:
        return {**Impact(name, (), ()).to_json(""), "outputs": {}, "readers": []}
    found = impact(service.member(name), new, [one for one in service.members() if one.file != name])
    version = service.present(name).n
    outputs = {effect.name: _columns(effect, new) for effect in found.effects if effect.kind == "output" and effect.file in (name, "")}
    readers = dict.fromkeys(effect.file for effect in found.effects if effect.file not in (name, ""))
    told = [_reader(service, reader, [effect for effect in found.effects if effect.file == reader]) for reader in readers]
    return {**found.to_json(f"version {version}"), "outputs": outputs, "readers": told}


def _columns(effect: Effect, new: Member) -> dict[str, str]:
    """Of all columns, where rows are affected."""
    if effect.columns:
        return {column: verdict.words for column, verdict in effect.columns.items()}
    statements = [access.statement for access in new.writes if str(access.place) == effect.name]
    columns = [ref.column for ref in new.types if ref.dataset.name in statements and not ref.column.startswith("_")]
    return dict.fromkeys(columns, effect.verdict.words)


def _reader(service: Service, name: str, effects: list[Effect]) -> dict[str, Any]:
    pipeline = service.job(name).pipeline
    worst = max((effect.verdict for effect in effects), default=Verdict.NONE)
    columns = {column: verdict.words for effect in effects for column, verdict in effect.columns.items()}
    return {"job": name, "owner": pipeline.owner, "team": pipeline.team, "verdict": worst.words, "columns": columns}
