"""Instants in a time zone. Arrow keeps it in the type: the same instants may be labelled with another, and are shown in that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.model.zone import UTC
from windrow.spark.internals.sessions import session_like

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SESSION_ZONE = "spark.sql.session.timeZone"


def zone_of(session: SparkSession) -> str:
    """The time zone that a session reads, computes and shows times in."""
    return session.conf.get(_SESSION_ZONE) or UTC


def in_zone(session: SparkSession, zone: str) -> SparkSession:
    """A session that differs in its time zone alone; the one that is given, where it does not."""
    if zone_of(session) == zone:
        return session
    own = session_like(session)
    own.conf.set(_SESSION_ZONE, zone)
    return own


def labelled(table: pa.Table, zone: str = UTC) -> pa.Table:
    """
    >>> labelled(pa.table({"at": pa.array([0], pa.timestamp("us", "Asia/Tokyo"))})).schema.field("at").type
    TimestampType(timestamp[us, tz=UTC])
    """
    wanted = [field.with_type(_type_in(field.type, zone)) for field in table.schema]
    if all(field.type == now.type for field, now in zip(table.schema, wanted, strict=True)):
        return table
    return table.cast(pa.schema(wanted))


def _type_in(type_: pa.DataType, zone: str) -> pa.DataType:
    types = pa.types
    if types.is_timestamp(type_):
        return type_ if type_.tz is None else pa.timestamp(type_.unit, zone)
    if types.is_struct(type_):
        return pa.struct([field.with_type(_type_in(field.type, zone)) for field in type_])
    if types.is_map(type_):
        return pa.map_(_type_in(type_.key_type, zone), _type_in(type_.item_type, zone))
    if types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_type_in(type_.value_type, zone)))
    return type_
