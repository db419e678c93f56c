"""A schema registry in Confluent's form, as the executors ask it: schemas by number, again and again while it does not answer."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

from windrow.errors import JobError, UsageError, WindrowError
from windrow.resilience import FailureClass, Guard, RetryRule

NO_SCHEMA = "WR869"
# Confluent's format: a zero, then the number of the schema in four bytes.
HEAD = struct.Struct(">bI")
Registry = tuple[tuple[str, str], ...]
_HINT = "check 'schema.registry.url' and 'schema.registry.basic.auth.user.info'"
_T = TypeVar("_T")


def schema_number(value: bytes) -> int | None:
    """The number of the schema that a record names; None where it names none.

    >>> schema_number(b"\\x00\\x00\\x00\\x00\\x07rest"), schema_number(b"{}")
    (7, None)
    """
    if len(value) < HEAD.size:
        return None
    magic, number = HEAD.unpack_from(value)
    return number if magic == 0 else None


def check_registry(registry: Registry, topics: tuple[str, ...]) -> None:
    """A registry that nobody answers for is found before any record is read."""

    # Subjects may have other names. That there is an answer is what is asked for.
    subject = f"{topics[0]}-value" if topics else "-value"
    _asked(registry, 30.0, "ask for schemas", lambda client: client.get_latest_version(subject))


def fetch_schema(registry: Registry, number: int, kind: str, *, form: str | None = None) -> Any | None:
    """The schema of a number. None where the registry knows none, or one of another kind: the record is at fault, not the registry."""
    found = _asked(registry, 60.0, f"look up schema {number}", lambda client: client.get_schema(number, fmt=form))
    return found if found is not None and found.schema_type == kind else None


def fetch_version(registry: Registry, subject: str, version: int, form: str) -> Any | None:
    """A schema that another one refers to."""
    what = f"look up version {version} of {subject}"
    found = _asked(registry, 60.0, what, lambda client: client.get_version(subject, version, fmt=form))
    return None if found is None else found.schema


def first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _asked(registry: Registry, give_up_after: float, what: str, ask: Callable[[Any], _T]) -> _T | None:
    """None where the registry answers that there is no such thing."""
    from confluent_kafka.schema_registry.error import SchemaRegistryError

    client = _client(registry)

    def asked() -> _T | None:
        try:
            return ask(client)
        except SchemaRegistryError as error:
            if error.http_status_code == 404:
                return None
            raise

    return _guard(registry, give_up_after).call(what, asked)


@cache
def _client(registry: Registry) -> Any:
    from confluent_kafka.schema_registry import SchemaRegistryClient

    try:
        return SchemaRegistryClient({**dict(registry), "timeout": 10, "max.retries": 0})
    except ValueError as error:
        raise UsageError(NO_SCHEMA, f"the schema registry cannot be asked: {first_line(error)}", _HINT) from None


def _guard(registry: Registry, give_up_after: float) -> Guard:
    url = dict(registry)["url"]

    def explain(error: BaseException, what: str) -> WindrowError:
        return JobError(NO_SCHEMA, f"could not {what} at the schema registry {url}: {first_line(error)}", _HINT)

    return Guard(f"schema registry {url}", _classify, explain, RetryRule(longest=5.0, give_up_after=give_up_after))


def _classify(error: BaseException) -> FailureClass:
    status = getattr(error, "http_status_code", None)
    if status is not None:
        return FailureClass.TRANSIENT if status >= 500 or status == 429 else FailureClass.PERMANENT
    return FailureClass.TRANSIENT
