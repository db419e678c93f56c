"""How a database replaces rows by key, from a staging table that has the columns of the target and says which rows are gone.

Four spellings: ``MERGE`` of the standard, ``ON CONFLICT``, ``ON DUPLICATE KEY``, and the two ways to make an empty table like another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

GONE = "windrow_gone"


@dataclass(frozen=True)
class Columns:
    """Names in quotes, as the database takes them exactly."""

    target: str
    stage: str
    names: tuple[str, ...]
    key: tuple[str, ...]
    gone: str

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.key)

    @property
    def matches(self) -> str:
        return " AND ".join(f"t.{name} = s.{name}" for name in self.key)


def _merge(columns: Columns) -> str:
    """
    >>> _merge(Columns("t1", "s1", ("k", "v"), ("k",), "g"))
    'MERGE INTO t1 t USING s1 s ON (t.k = s.k) WHEN MATCHED AND s.g = 0 THEN UPDATE SET t.v = s.v \
WHEN NOT MATCHED AND s.g = 0 THEN INSERT (k, v) VALUES (s.k, s.v)'
    """
    update = ", ".join(f"t.{name} = s.{name}" for name in columns.others)
    matched = f" WHEN MATCHED AND s.{columns.gone} = 0 THEN UPDATE SET {update}" if update else ""
    values = ", ".join(f"s.{name}" for name in columns.names)
    return (
        f"MERGE INTO {columns.target} t USING {columns.stage} s ON ({columns.matches}){matched}"
        f" WHEN NOT MATCHED AND s.{columns.gone} = 0 THEN INSERT ({', '.join(columns.names)}) VALUES ({values})"
    )


def _oracle(columns: Columns) -> str:
    """Its MERGE has WHERE in the place of AND."""
    update = ", ".join(f"t.{name} = s.{name}" for name in columns.others)
    matched = f" WHEN MATCHED THEN UPDATE SET {update} WHERE s.{columns.gone} = 0" if update else ""
    values = ", ".join(f"s.{name}" for name in columns.names)
    return (
        f"MERGE INTO {columns.target} t USING {columns.stage} s ON ({columns.matches}){matched}"
        f" WHEN NOT MATCHED THEN INSERT ({', '.join(columns.names)}) VALUES ({values}) WHERE s.{columns.gone} = 0"
    )


def _sqlserver(columns: Columns) -> str:
    return _merge(columns).replace(", t.", ", ").replace("UPDATE SET t.", "UPDATE SET ") + ";"


def _insert(columns: Columns) -> str:
    listed = ", ".join(columns.names)
    return f"INSERT INTO {columns.target} ({listed}) SELECT {listed} FROM {columns.stage} s WHERE s.{columns.gone} = 0"


def _on_conflict(columns: Columns) -> str:
    update = ", ".join(f"{name} = excluded.{name}" for name in columns.others)
    return f"{_insert(columns)} ON CONFLICT ({', '.join(columns.key)}) DO {f'UPDATE SET {update}' if update else 'NOTHING'}"


def _on_duplicate(columns: Columns) -> str:
    update = ", ".join(f"{name} = VALUES({name})" for name in columns.others or columns.key)
    return f"{_insert(columns)} ON DUPLICATE KEY UPDATE {update}"


def _create_as(columns: Columns) -> str:
    return f"CREATE TABLE {columns.stage} AS SELECT {', '.join(columns.names)}, 0 AS {columns.gone} FROM {columns.target} WHERE 1 = 0"


def _create_as_no_data(columns: Columns) -> str:
    return f"CREATE TABLE {columns.stage} AS (SELECT {', '.join(columns.names)}, 0 AS {columns.gone} FROM {columns.target}) WITH NO DATA"


def _select_into(columns: Columns) -> str:
    return f"SELECT {', '.join(columns.names)}, 0 AS {columns.gone} INTO {columns.stage} FROM {columns.target} WHERE 1 = 0"


@dataclass(frozen=True)
class Dialect:
    upsert: Callable[[Columns], str]
    stage: Callable[[Columns], str] = _create_as

    def replace(self, columns: Columns) -> Sequence[str]:
        """What one transaction does once the rows are in the staging table."""
        taken = (
            f"DELETE FROM {columns.target} WHERE EXISTS (SELECT 1 FROM {columns.stage} s WHERE s.{columns.gone} = 1 AND "
            + " AND ".join(f"s.{name} = {columns.target}.{name}" for name in columns.key)
            + ")"
        )
        return taken, self.upsert(columns)


DIALECTS: dict[str, Dialect] = {
    "h2": Dialect(_merge),
    "mysql": Dialect(_on_duplicate),
    "mariadb": Dialect(_on_duplicate),
    "oracle": Dialect(_oracle),
    "sqlserver": Dialect(_sqlserver, _select_into),
    "sqlite": Dialect(_on_conflict),
    "db2": Dialect(_merge, _create_as_no_data),
    "derby": Dialect(_merge, _create_as_no_data),
}


def dialect_of(url: str) -> str | None:
    """
    >>> dialect_of("jdbc:mysql://db/shop"), dialect_of("jdbc:exotic:x")
    ('mysql', None)
    """
    kind = url.split(":")[1].lower() if url.lower().startswith("jdbc:") and url.count(":") > 1 else ""
    return kind if kind in DIALECTS else None
