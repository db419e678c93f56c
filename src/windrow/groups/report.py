"""A group for people and for programs: as text, as plain values, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from windrow.graphs import Box, FieldGraph, Link, draw_fields
from windrow.groups.group import Group
from windrow.groups.member import Access, Member
from windrow.groups.opportunities import Opportunity, opportunities
from windrow.groups.sharing import Cost, Figures, Shared, shared_in

PARTS = ("multi_query", "shared_resources", "optimization_opportunities")


@dataclass(frozen=True)
class GroupReport:
    """Everything there is to say about a group, worked out once."""

    group: Group
    shared: tuple[Shared, ...] = ()
    opportunities: tuple[Opportunity, ...] = ()
    has_figures: bool = False

    @staticmethod
    def of(group: Group, figures: Figures) -> GroupReport:
        shared = tuple(one for member in group.members for one in shared_in(member, figures))
        return GroupReport(group, shared, tuple(opportunities(group, figures)), bool(figures))

    def text(self, parts: tuple[str, ...] = PARTS) -> str:
        told: list[list[str]] = []
        if "multi_query" in parts:
            told += [list(_member(member)) for member in self.group.members]
            told += [list(_places(self.group)), list(_conflicts(self.group))]
        if "shared_resources" in parts:
            told.append(["shared, and computed once", *(f"   {line}" for line in _shared(self.shared))])
        if "optimization_opportunities" in parts:
            told.append(["could be shared", *(f"   {line}" for line in _opportunities(self.opportunities))])
        return "\n\n".join("\n".join(lines) for lines in told)

    def to_json(self) -> dict[str, Any]:
        group = self.group
        return {
            "files": [_member_json(member) for member in group.members],
            "places": [
                {
                    "namespace": place.dataset.namespace,
                    "name": place.dataset.name,
                    "writers": [_access_json(access) for access in place.writers],
                    "readers": [_access_json(access) for access in place.readers],
                }
                for place in group.places().values()
            ],
            "conflicts": [
                {"kind": one.kind, "place": one.place or None, "text": one.text, "files": list(one.files), "hint": one.hint}
                for one in group.conflicts()
            ],
            "shared": [
                {
                    "kind": one.kind,
                    "file": one.file,
                    "job": one.job,
                    "name": one.name,
                    "users": list(one.users),
                    "cost": _cost_json(one.cost),
                }
                for one in self.shared
            ],
            "opportunities": [
                {
                    "kind": one.kind,
                    "text": one.text,
                    "change": one.change,
                    "uses": [{"file": use.file, "job": use.job, "name": use.name} for use in one.uses],
                    "saves": _cost_json(one.saves),
                    "is_at_most": one.is_at_most,
                }
                for one in self.opportunities
            ],
        }

    def draw(self, form: str) -> str:
        return draw_fields(picture(self.group), form)


def picture(group: Group) -> FieldGraph:
    """A box for each file with what it computes, and one for each topic, table or folder."""
    boxes = [Box(member.file, tuple(_fields(member))) for member in group.members]
    links: list[Link] = []
    for place in group.places().values():
        name = str(place.dataset)
        boxes.append(Box(name, is_outside=True))
        links += [Link((access.file, access.statement), (name, ""), text=f"{access} writes {name}") for access in place.writers]
        links += [Link((name, ""), (access.file, access.statement), text=f"{access} reads {name}") for access in place.readers]
    return FieldGraph("group of files", tuple(boxes), tuple(links))


def _fields(member: Member) -> Iterator[str]:
    yield from dict.fromkeys([*(access.statement for access in member.reads), *member.statement_names()])


def _member(member: Member) -> Iterator[str]:
    about = [f"{what} {found}" for what in ("app", "version", "owner") if (found := member.about(what)) is not None]
    yield member.file + (f": {', '.join(about)}" if about else "")
    for access in member.reads:
        yield f"   reads   {access.place} as {access.statement}"
    for access in member.writes:
        yield f"   writes  {access.place} from {access.statement}{_said(member, access.statement)}"
    outside = {access.statement for access in member.writes}
    inner = [name for name in member.statement_names() if name not in outside]
    if inner:
        yield f"   keeps   {', '.join(inner)} to itself"


def _said(member: Member, name: str) -> str:
    """Owner and version of a statement, where it has its own."""
    notes = member.notes_of(name)
    own = [f"{what} {found}" for what, found in (("owner", notes.owner), ("version", notes.version)) if found is not None]
    return f" ({', '.join(own)})" if own else ""


def _places(group: Group) -> Iterator[str]:
    links = group.links()
    yield "between the files" if links else "nothing that one file writes is read by another, or by itself"
    for writer, reader in links:
        yield f"   {writer} -> {writer.place} -> {reader}"


def _conflicts(group: Group) -> Iterator[str]:
    found = group.conflicts()
    yield "conflicts" if found else "no conflicts"
    for one in found:
        yield f"   {one.kind.replace('_', ' ')}: {one.text}"
        yield f"      hint: {one.hint}"


def _shared(shared: tuple[Shared, ...]) -> Iterator[str]:
    if not shared:
        yield "nothing: no source, statement or table serves two statements of one job"
    for one in shared:
        cost = "" if one.cost is None else f" ({one.cost.words})"
        yield f"{one.kind} {one.name} of {one.file}: {one.words} for {', '.join(one.users)}{cost}"


def _opportunities(found: tuple[Opportunity, ...]) -> Iterator[str]:
    if not found:
        yield "nothing: no two statements do the same work"
    for one in found:
        yield one.text
        yield f"   change  {one.change}"
        yield f"   saves   {one.words}"


def _member_json(member: Member) -> dict[str, Any]:
    return {
        "file": member.file,
        **{what: member.about(what) for what in ("app", "version", "owner", "description")},
        "jobs": [job.name for job in member.plan.jobs],
        "statements": [
            {"name": name, "owner": member.about("owner", name), "version": member.about("version", name)}
            for name in member.statement_names()
        ],
    }


def _access_json(access: Access) -> dict[str, Any]:
    columns = [{"name": column.name, "type": str(column.type)} for column in access.columns]
    return {"file": access.file, "job": access.job, "statement": access.statement, "connector": access.connector, "columns": columns}


def _cost_json(cost: Cost | None) -> dict[str, Any] | None:
    if cost is None:
        return None
    return {"seconds": round(cost.seconds, 6), "share": round(cost.share, 4), "rows": cost.rows, "batches": cost.batches}
