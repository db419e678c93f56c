"""Files of a group, made of little text."""

from __future__ import annotations

from windrow.compiler import compile_sql
from windrow.groups import Group, Member

ORDERS = """
CREATE STREAM orders (id BIGINT, customer STRING, amount DOUBLE, ts TIMESTAMP) WITH ('connector' = 'kafka', 'topic' = 'orders',
  'bootstrap.servers' = 'b:9092', 'format' = 'json', 'event.time.field' = 'ts');
"""


def topic(name: str) -> str:
    return f"('connector' = 'kafka', 'topic' = '{name}', 'bootstrap.servers' = 'b:9092', 'format' = 'json')"


def folder(name: str) -> str:
    return f"('connector' = 'files', 'path' = '{name}', 'format' = 'json')"


def member(file: str, sql: str) -> Member:
    compiled = compile_sql(sql, file)
    return Member.of(compiled.script, compiled.catalog, compiled.plan, file)


def group(**files: str) -> Group:
    return Group(tuple(member(f"{name}.sql", sql) for name, sql in files.items()))
