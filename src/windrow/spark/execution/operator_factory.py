"""The class that runs each kind of stage."""

from __future__ import annotations

from typing import Any, assert_never

from windrow.plan.physical import OperatorSpec
from windrow.plan.stages import (
    Aggregate,
    Expect,
    Explode,
    FilterProject,
    InsertUnion,
    IntervalJoin,
    LateRows,
    LoadTable,
    LookupJoin,
    OverAggregate,
    Read,
    SubqueryLookup,
    UnionAll,
    UpsertTable,
    WindowRows,
    Write,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.spark.operators.aggregate import AggregateOperator
from windrow.spark.operators.base import Operator
from windrow.spark.operators.expect import ExpectOperator
from windrow.spark.operators.explode import ExplodeOperator
from windrow.spark.operators.filter_project import FilterProjectOperator
from windrow.spark.operators.insert_union import InsertUnionOperator
from windrow.spark.operators.late_rows import LateRowsOperator
from windrow.spark.operators.load_table import LoadTableOperator
from windrow.spark.operators.lookup_join import LookupJoinOperator
from windrow.spark.operators.over_aggregate import OverAggregateOperator
from windrow.spark.operators.read import ReadOperator
from windrow.spark.operators.stream_join import StreamJoinOperator
from windrow.spark.operators.table_subquery import SubqueryLookupOperator
from windrow.spark.operators.union_all import UnionAllOperator
from windrow.spark.operators.upsert_table import UpsertTableOperator
from windrow.spark.operators.window_rows import WindowRowsOperator
from windrow.spark.operators.write import WriteOperator


def operator_of(spec: OperatorSpec) -> Operator[Any]:
    match spec.stage:
        case Read() as stage:
            return ReadOperator(spec, stage)
        case LoadTable() as stage:
            return LoadTableOperator(spec, stage)
        case FilterProject() as stage:
            return FilterProjectOperator(spec, stage)
        case Explode() as stage:
            return ExplodeOperator(spec, stage)
        case SubqueryLookup() as stage:
            return SubqueryLookupOperator(spec, stage)
        case Aggregate() as stage:
            return AggregateOperator(spec, stage)
        case OverAggregate() as stage:
            return OverAggregateOperator(spec, stage)
        case LookupJoin() as stage:
            return LookupJoinOperator(spec, stage)
        case IntervalJoin() | AsofJoin() | WindowJoin() as stage:
            return StreamJoinOperator(spec, stage)
        case WindowRows() as stage:
            return WindowRowsOperator(spec, stage)
        case LateRows() as stage:
            return LateRowsOperator(spec, stage)
        case UnionAll() as stage:
            return UnionAllOperator(spec, stage)
        case InsertUnion() as stage:
            return InsertUnionOperator(spec, stage)
        case Expect() as stage:
            return ExpectOperator(spec, stage)
        case UpsertTable() as stage:
            return UpsertTableOperator(spec, stage)
        case Write() as stage:
            return WriteOperator(spec, stage)
        case _:
            assert_never(spec.stage)
