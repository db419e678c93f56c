"""The ledger: where every row went. ``rows in = aggregated + filtered + dead-lettered + dropped``, for sources and statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass
class TakenBack:
    """How many dead letters come once more, by code, and by the constraint that they violated."""

    codes: Counter[str] = field(default_factory=Counter)
    constraints: Counter[str] = field(default_factory=Counter)


@dataclass
class Account:
    """One source or one statement. ``dead`` and ``dropped`` are by reason code.

    The ``late_`` numbers are of rows that passed: ``late_warned`` were behind their partition's watermark, which a source only counts.
    """

    rows_in: int = 0
    passed: int = 0
    filtered: int = 0
    dead: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    late_corrected: int = 0
    late_included: int = 0
    late_warned: int = 0
    emitted: int = 0
    # Of the rows that were emitted, those that the output refused: they are dead letters too.
    refused: int = 0
    # Rows that were dead letters and came once more, by the code they had been set aside with: no longer among ``dead``.
    replayed: Counter[str] = field(default_factory=Counter)
    # Of the rows that were emitted, while their output was away or slow: those that went to the state folder first, those that another
    # output got, and those that were dropped, by reason code.
    spilled: int = 0
    failed_over: int = 0
    unsent: Counter[str] = field(default_factory=Counter)
    # Files that a source went on without, because they cannot be read: by its own notes, not by batches.
    unread_files: int = 0
    # By the name of the constraint: rows that are dead letters or dropped for violating it, and rows that passed with a warning.
    violations: Counter[str] = field(default_factory=Counter)
    warned: Counter[str] = field(default_factory=Counter)
    # Of the rows that were emitted, those of windows and groups by kind: early, final, late, change, retract.
    emissions: Counter[str] = field(default_factory=Counter)

    @property
    def accounted(self) -> int:
        return self.passed + self.filtered + sum(self.dead.values()) + sum(self.dropped.values())

    @property
    def is_balanced(self) -> bool:
        return self.rows_in == self.accounted

    @property
    def ever_dead(self) -> Counter[str]:
        """Every row that was ever set aside, also those that came once more: this never falls.

        >>> Account(rows_in=3, dead=Counter(WR701=2), replayed=Counter(WR701=1)).ever_dead
        Counter({'WR701': 3})
        """
        return self.dead + self.replayed

    def add(self, other: Account) -> None:
        self.rows_in += other.rows_in
        self.passed += other.passed
        self.filtered += other.filtered
        self.dead.update(other.dead)
        # What was set aside may have been taken back.
        self.dead = Counter({code: count for code, count in self.dead.items() if count})
        self.dropped.update(other.dropped)
        self.late_corrected += other.late_corrected
        self.late_included += other.late_included
        self.late_warned += other.late_warned
        self.emitted += other.emitted
        self.refused += other.refused
        self.replayed.update(other.replayed)
        self.spilled += other.spilled
        self.failed_over += other.failed_over
        self.unsent.update(other.unsent)
        self.violations.update(other.violations)
        self.violations = Counter({name: count for name, count in self.violations.items() if count})
        self.warned.update(other.warned)
        self.emissions.update(other.emissions)

    def take_back(self, taken: TakenBack) -> None:
        """Rows that were set aside come once more: what they were counted as no longer holds."""
        self.rows_in -= sum(taken.codes.values())
        self.dead.subtract(taken.codes)
        self.replayed.update(taken.codes)
        self.violations.subtract(taken.constraints)

    def to_json(self) -> dict[str, Any]:
        return {
            "rows_in": self.rows_in,
            "passed": self.passed,
            "filtered": self.filtered,
            "dead_letters": dict(sorted(self.dead.items())),
            "dropped": dict(sorted(self.dropped.items())),
            "late_corrected": self.late_corrected,
            "late_included": self.late_included,
            "late_warned": self.late_warned,
            "emitted": self.emitted,
            "refused": self.refused,
            "replayed": dict(sorted(self.replayed.items())),
            "spilled": self.spilled,
            "failed_over": self.failed_over,
            "unsent": dict(sorted(self.unsent.items())),
            "unread_files": self.unread_files,
            "violations": dict(sorted(self.violations.items())),
            "warned": dict(sorted(self.warned.items())),
            "emissions": dict(sorted(self.emissions.items())),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Account:
        return Account(
            data["rows_in"],
            data["passed"],
            data["filtered"],
            Counter(data["dead_letters"]),
            Counter(data["dropped"]),
            data["late_corrected"],
            data["late_included"],
            data["late_warned"],
            data["emitted"],
            data.get("refused", 0),
            # Accounts of before replays were counted have none.
            Counter(data.get("replayed", {})),
            data.get("spilled", 0),
            data.get("failed_over", 0),
            Counter(data.get("unsent", {})),
            data.get("unread_files", 0),
            Counter(data.get("violations", {})),
            Counter(data.get("warned", {})),
            # Accounts of before kinds were counted have none.
            Counter(data.get("emissions", {})),
        )


@dataclass
class Ledger:
    """The accounts of a job, since its first batch or for one batch."""

    sources: dict[str, Account] = field(default_factory=dict)
    statements: dict[str, Account] = field(default_factory=dict)

    def source(self, name: str) -> Account:
        return self.sources.setdefault(name, Account())

    def statement(self, name: str) -> Account:
        return self.statements.setdefault(name, Account())

    def add(self, other: Ledger) -> None:
        for name, account in other.sources.items():
            self.source(name).add(account)
        for name, account in other.statements.items():
            self.statement(name).add(account)

    def with_unread_files(self, counts: Mapping[str, int]) -> Ledger:
        """The same ledger with the files that each source could not read."""
        sources = {name: replace(account, unread_files=counts.get(name, 0)) for name, account in self.sources.items()}
        missing = {name: Account(unread_files=count) for name, count in counts.items() if name not in sources}
        return Ledger({**sources, **missing}, self.statements)

    @property
    def is_balanced(self) -> bool:
        return all(a.is_balanced for a in (*self.sources.values(), *self.statements.values()))

    @property
    def rows_in(self) -> int:
        return sum(account.rows_in for account in self.sources.values())

    @property
    def dead_letters(self) -> Counter[str]:
        every: Counter[str] = Counter()
        for account in (*self.sources.values(), *self.statements.values()):
            every.update(account.dead)
        return every

    @property
    def violations(self) -> Counter[str]:
        """Rows that violated a constraint, by its name, whether they were set aside or only warned of."""
        every: Counter[str] = Counter()
        for account in (*self.sources.values(), *self.statements.values()):
            every.update(account.violations + account.warned)
        return every

    def to_json(self) -> dict[str, Any]:
        return {
            "sources": {name: account.to_json() for name, account in self.sources.items()},
            "statements": {name: account.to_json() for name, account in self.statements.items()},
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Ledger:
        return Ledger(
            {name: Account.from_json(account) for name, account in data["sources"].items()},
            {name: Account.from_json(account) for name, account in data["statements"].items()},
        )
