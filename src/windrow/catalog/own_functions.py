"""The dialect's own functions, and what is known about some of Spark's beyond what probing tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.aggregates import AGGREGATES, Aggregate
from windrow.catalog.functions import Function, FunctionKind, ReturnRule, same_as, signed_aggregate
from windrow.catalog.numeric import common_type
from windrow.model.expr import Call, Column, Node
from windrow.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FRACTIONS,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    UNKNOWN,
    VARIANT,
    Array,
    DataType,
    Decimal,
    Map,
    Struct,
)
from windrow.model.window_kinds import BOUND_PREFIXES

_SCALAR, _AGGREGATE, _WINDOW = FunctionKind.SCALAR, FunctionKind.AGGREGATE, FunctionKind.WINDOW


def _fixed(type_: DataType) -> ReturnRule:
    return lambda _: type_


def _common_from(position: int) -> ReturnRule:
    return lambda args: common_type(args[position:])


def _array_of(args: Sequence[DataType]) -> DataType:
    return Array(args[0]) if args else UNKNOWN


def _array_of_common(args: Sequence[DataType]) -> DataType:
    return Array(common_type(args))


def _element(args: Sequence[DataType]) -> DataType:
    match args[0] if args else UNKNOWN:
        case Array(element=element):
            return element
        case Map(value=value):
            return value
        case _:
            return UNKNOWN


def _sum(args: Sequence[DataType]) -> DataType:
    match args[0] if args else UNKNOWN:
        case Decimal(precision=precision, scale=scale):
            return Decimal(min(38, precision + 10), scale)
        case type_ if type_ in INTEGERS:
            return BIGINT
        case type_ if type_ in FRACTIONS:
            return DOUBLE
        case _:
            return UNKNOWN


def _average(args: Sequence[DataType]) -> DataType:
    match args[0] if args else UNKNOWN:
        case Decimal(precision=precision, scale=scale):
            return Decimal(min(38, precision + 4), min(38, scale + 4))
        case type_ if type_ in INTEGERS or type_ in FRACTIONS:
            return DOUBLE
        case _:
            return UNKNOWN


def _of_shares(share: int, value: ReturnRule) -> ReturnRule:
    """An array of values where the argument is an array of shares."""

    def returns(args: Sequence[DataType]) -> DataType:
        is_array = len(args) > share and isinstance(args[share], Array)
        return Array(value(args)) if is_array else value(args)

    return returns


def _items(args: Sequence[DataType]) -> DataType:
    """Frequent items with their counts."""
    return Array(Struct((("item", args[0]), ("count", BIGINT)))) if args else UNKNOWN


def _by_count(two: DataType, three: DataType) -> ReturnRule:
    """DATEADD(ts, 1) counts days and DATEADD(HOUR, 1, ts) units; variant_get(v, path, 'int') is a value and no variant."""
    return lambda args: three if len(args) == 3 else two


def _last_type(args: Sequence[DataType]) -> DataType:
    return args[-1] if args else UNKNOWN


def _own(name: str, signature: str, doc: str, counts: tuple[int, ...], returns: ReturnRule, kind: FunctionKind = _SCALAR) -> Function:
    return Function(name, kind, signature, doc, counts, returns=returns)


_BOUNDS = tuple(
    _own(f"{window}_{bound}", f"{window}_{bound}()", f"the {bound} of the emission's window", (0, 1, 2, 3), _fixed(TIMESTAMP))
    for window in BOUND_PREFIXES
    for bound in ("start", "end")
)

_AGGREGATES_WITH_SIGNATURE = tuple(
    signed_aggregate(name.lower(), form) for name, form in AGGREGATES.items() if isinstance(form, Aggregate) and form.signature is not None
)

OWN_FUNCTIONS: tuple[Function, ...] = (
    _own("header", "header(key)", "the value of a header of the row, NULL where it has none", (1,), _fixed(STRING)),
    _own("has_header", "has_header(key)", "whether the row has a header", (1,), _fixed(BOOLEAN)),
    _own("header_keys", "header_keys()", "the names of the row's headers", (0,), _fixed(Array(STRING))),
    _own("set_header", "set_header(key, value)", "sets a header of the output row and returns the value", (2,), same_as(1)),
    _own("remove_header", "remove_header(key)", "removes a header and returns its old value", (1,), _fixed(STRING)),
    replace(_own("delta", "delta(expr)", "greatest value minus least value", (1,), same_as(0), _AGGREGATE), numbers=(0,)),
    replace(
        _own("count_distinct", "count_distinct(expr, ...)", "how many values differ", (1,), _fixed(BIGINT), _AGGREGATE), is_variadic=True
    ),
    replace(
        _own(
            "histogram",
            "histogram(expr, bound, ...)",
            "how many values lie up to each bound and above the one before it, and above the last",
            (2,),
            _fixed(Array(BIGINT)),
            _AGGREGATE,
        ),
        is_variadic=True,
        numbers=(0,),
    ),
    replace(
        _own(
            "percentile_sketch",
            "percentile_sketch(expr, p[, error])",
            "the interpolated percentile, off by at most this share of its value (0.01 if not given), in a few kilobytes",
            (2, 3),
            _of_shares(1, _fixed(DOUBLE)),
            _AGGREGATE,
        ),
        numbers=(0,),
    ),
    _own("earliest", "earliest(expr)", "the first value in event time", (1,), same_as(0), _AGGREGATE),
    _own("latest", "latest(expr)", "the last value in event time", (1,), same_as(0), _AGGREGATE),
    _own("earliest_by_offset", "earliest_by_offset(expr)", "the first value that arrived, as FIRST", (1,), same_as(0), _AGGREGATE),
    _own("latest_by_offset", "latest_by_offset(expr)", "the last value that arrived, as LAST", (1,), same_as(0), _AGGREGATE),
    _own("json_value", "json_value(json, path)", "the scalar at a JSONPath, as text", (2,), _fixed(STRING)),
    _own("json_exists", "json_exists(json, path)", "whether a JSONPath finds anything", (2,), _fixed(BOOLEAN)),
    _own("json_query", "json_query(json, path)", "the object or array at a JSONPath, as JSON text", (2,), _fixed(STRING)),
    _own("timestampadd", "timestampadd(unit, n, ts)", "a timestamp moved by n units", (3,), _fixed(TIMESTAMP)),
    _own("timestampdiff", "timestampdiff(unit, a, b)", "whole units from a to b", (3,), _fixed(BIGINT)),
    _own("unnest", "unnest(array)", "the elements of an array or map as rows, in FROM", (1,), _element, FunctionKind.GENERATOR),
    *_AGGREGATES_WITH_SIGNATURE,
    *_BOUNDS,
)

HEADER_CHANGES = frozenset({"set_header", "remove_header"})
HEADER_FUNCTIONS = HEADER_CHANGES | {"header", "has_header", "header_keys"}
BOUND_FUNCTIONS = frozenset(bound.name for bound in _BOUNDS)


def is_bound(node: Node) -> bool:
    """Whether this is the start or the end of a row's window. A group belongs to one window anyhow, so GROUP BY may name them."""
    match node:
        case Column(name=name):
            return name.lower() in ("_window_start", "_window_end")
        case Call(name=name):
            return name.lower() in BOUND_FUNCTIONS
        case _:
            return False


_RETURNS: dict[str, ReturnRule] = {
    "sum": _sum, "try_sum": _sum, "avg": _average, "mean": _average, "try_avg": _average,
    "count": _fixed(BIGINT), "count_if": _fixed(BIGINT),
    "approx_count_distinct": _fixed(BIGINT), "min": same_as(0), "max": same_as(0), "first": same_as(0), "last": same_as(0),
    "first_value": same_as(0), "last_value": same_as(0), "any_value": same_as(0), "min_by": same_as(0), "max_by": same_as(0),
    "approx_top_k": _items, "hll_sketch_agg": _fixed(BINARY), "hll_union_agg": _fixed(BINARY), "hll_union": _fixed(BINARY),
    "hll_sketch_estimate": _fixed(BIGINT), "mode": _last_type,
    "lag": same_as(0), "lead": same_as(0), "nth_value": same_as(0), "nullif": same_as(0), "abs": same_as(0),
    "negative": same_as(0), "positive": same_as(0), "row_number": _fixed(INT), "rank": _fixed(INT), "dense_rank": _fixed(INT),
    "ntile": _fixed(INT), "percent_rank": _fixed(DOUBLE), "cume_dist": _fixed(DOUBLE), "percentile_cont": _of_shares(0, _fixed(DOUBLE)),
    "percentile": _of_shares(1, _fixed(DOUBLE)), "percentile_approx": _of_shares(1, same_as(0)),
    "approx_percentile": _of_shares(1, same_as(0)), "percentile_disc": _of_shares(0, _last_type),
    "median": _fixed(DOUBLE), "listagg": _fixed(STRING), "string_agg": _fixed(STRING),
    "collect_list": _array_of, "collect_set": _array_of, "array_agg": _array_of, "array": _array_of_common, "coalesce": _common_from(0),
    "nvl": _common_from(0), "ifnull": _common_from(0), "greatest": _common_from(0), "least": _common_from(0), "if": _common_from(1),
    "nvl2": _common_from(1), "explode": _element, "explode_outer": _element, "element_at": _element, "try_element_at": _element,
    "get": _element, "date_add": _by_count(DATE, TIMESTAMP), "dateadd": _by_count(DATE, TIMESTAMP),
    "variant_get": _by_count(VARIANT, UNKNOWN), "try_variant_get": _by_count(VARIANT, UNKNOWN),
    "date_diff": _by_count(INT, BIGINT), "datediff": _by_count(INT, BIGINT),
}  # fmt: skip

# Argument counts where probing is too generous (window functions fill in defaults) or the parser allows more (a unit of time).
_COUNTS: dict[str, tuple[int, ...]] = {
    "row_number": (0,), "rank": (0,), "dense_rank": (0,), "percent_rank": (0,), "cume_dist": (0,), "ntile": (1,), "lag": (1, 2, 3),
    "lead": (1, 2, 3), "nth_value": (2,), "percentile_cont": (1,), "percentile_disc": (1,), "mode": (0, 1), "date_add": (2, 3),
    "dateadd": (2, 3), "date_diff": (2, 3), "datediff": (2, 3), "listagg": (1, 2), "string_agg": (1, 2), "if": (3,), "extract": (2,),
}  # fmt: skip
_VARIADIC_FROM = {"count": 1, "coalesce": 1, "greatest": 2, "least": 2, "concat": 0, "array": 0, "struct": 1, "map": 0, "named_struct": 2}

# Of Spark's functions, those that the engine has no use for: refused with a reason, and left out of SHOW FUNCTIONS.
TIME_OF_DAY = frozenset(
    "current_time localtime make_time time time_diff time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis "
    "time_to_seconds time_trunc to_time try_to_time".split()
)
RECORD_FORMATS = frozenset("from_avro schema_of_avro to_avro from_protobuf to_protobuf".split())
# They speak of files, windows and groups as Spark has them, which are not those of a stream here.
FOREIGN = frozenset("input_file_name input_file_block_start input_file_block_length window_time grouping grouping_id measure".split())
# A window is a clause here, and no function.
UNUSABLE = TIME_OF_DAY | RECORD_FORMATS | FOREIGN | {"window", "session_window"}

# Where the group that Spark files a function under does not tell what it is.
_KINDS = {
    **dict.fromkeys("collations sql_keywords variant_explode variant_explode_outer".split(), FunctionKind.TABLE),
    **dict.fromkeys("schema_of_variant_agg vector_avg vector_sum".split(), _AGGREGATE),
    "json_tuple": FunctionKind.GENERATOR,
    **dict.fromkeys("row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value".split(), _WINDOW),
}
_ONE_NUMBER = (
    "sum try_sum avg mean try_avg stddev std stddev_samp stddev_pop variance var_samp var_pop median skewness kurtosis delta "
    "abs ceil ceiling floor round bround sqrt cbrt exp expm1 ln log10 log2 log1p sign signum sin cos tan asin acos atan sinh cosh tanh "
    "degrees radians negative positive factorial bit_and bit_or bit_xor from_unixtime timestamp_seconds timestamp_millis timestamp_micros"
)
_ALL_NUMBERS = (
    "corr covar_pop covar_samp regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy "
    "power pow mod pmod atan2 hypot log"
)
_NUMBERS: dict[str, tuple[int, ...] | None] = dict.fromkeys(_ONE_NUMBER.split(), (0,)) | dict.fromkeys(_ALL_NUMBERS.split(), None)
_WITHIN_GROUP = frozenset({"percentile_cont", "percentile_disc"})
# Where a share of rows may also be an array of them, of which probing tells one type only.
_SHARES = {"percentile": 1, "percentile_approx": 1, "approx_percentile": 1, "percentile_cont": 0, "percentile_disc": 0}
# Spark writes these as operators too, which the dialect has not.
_SIGNATURES = {name: f"{name}(base, places)" for name in ("shiftleft", "shiftright", "shiftrightunsigned")}
# What a sketch of distinct values takes: no fractions, times or nested values.
_NOT_HASHED = frozenset({"BOOLEAN", "FLOAT", "DOUBLE", "DECIMAL(10,2)", "DATE", "TIMESTAMP", "ARRAY<INT>", "MAP<STRING,INT>", "STRUCT"})
_NO_SKETCH = _NOT_HASHED | {"TINYINT", "SMALLINT", "INT", "BIGINT", "STRING"}
_REFUSED = {"hll_sketch_agg": (_NOT_HASHED,), **dict.fromkeys(("hll_union_agg", "hll_sketch_estimate"), (_NO_SKETCH,))}
# Probing tells wrong of these: it knows arrays of numbers only, and of calls with several forms the shortest.
_UNTOLD = frozenset(
    "inline inline_outer flatten map_from_entries decode make_timestamp make_timestamp_ltz make_timestamp_ntz try_make_timestamp "
    "try_make_timestamp_ltz try_make_timestamp_ntz".split()
)


def sharpened(spark: Function) -> Function:
    """One of Spark's functions with what we know better."""
    name = spark.name
    least = _VARIADIC_FROM.get(name)
    return replace(
        spark,
        kind=_KINDS.get(name, spark.kind),
        signature=_SIGNATURES.get(name, spark.signature),
        counts=_COUNTS.get(name, spark.counts) if least is None else (least,),
        is_variadic=(spark.is_variadic and name not in _COUNTS) or least is not None,
        returns=_RETURNS.get(name, spark.returns),
        refuses=_refused(name, spark),
        numbers=_NUMBERS.get(name, ()),
        needs_within_group=name in _WITHIN_GROUP,
    )


def _refused(name: str, spark: Function) -> tuple[frozenset[str], ...]:
    """Which types an argument cannot have."""
    if name in _UNTOLD:
        return ()
    if name in _REFUSED:
        return _REFUSED[name]
    return tuple(frozenset() if _SHARES.get(name) == position else types for position, types in enumerate(spark.refuses))
