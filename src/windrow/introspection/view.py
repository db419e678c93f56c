"""A script as it stands at one of its statements: what was dropped is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from windrow.catalog import Catalog, Relation, build_catalog
from windrow.catalog.lifetimes import lifetimes
from windrow.model.statement import Script, Statement
from windrow.plan import Plan, plan_script


@dataclass(frozen=True)
class View:
    script: Script
    catalog: Catalog
    extra: Mapping[str, Relation]

    @staticmethod
    def of(script: Script, extra: Mapping[str, Relation] | None) -> View:
        current = replace(script, statements=lifetimes(script).current)
        return View(current, build_catalog(current, extra), extra or {})

    @property
    def statements(self) -> tuple[Statement, ...]:
        return self.script.statements

    def plan(self) -> Plan:
        return plan_script(self.script, self.catalog)
