"""What is put around a function of the user's: it travels to Spark's workers as it is written here, so it imports nothing of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

FAILED = "WR840"


class FunctionError(Exception):
    """What a function failed with, in the words that the driver shows; workers may have no Windrow to raise an error of."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(f"[{code}] {message}\n  hint: {hint}")


def vectorised(name: str, function: Callable[..., Any], types: list[pa.DataType], returns: pa.DataType) -> Callable[..., pa.Array]:
    """The function with its arguments and its result in the declared types."""

    def call(*args: pa.Array) -> pa.Array:
        try:
            given = [arg.cast(type_, safe=False) for arg, type_ in zip(args, types, strict=True)]
            return _as_array(function(*given), returns, len(args[0]))
        except Exception as error:
            first = next(iter(str(error).splitlines()), "")
            hint = "it gets a pyarrow.Array for each parameter and returns one of the same length: see pyarrow.compute"
            raise FunctionError(FAILED, f"the function {name} failed: {type(error).__name__}: {first}", hint) from error

    return call


def _as_array(result: Any, returns: pa.DataType, length: int) -> pa.Array:
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if not isinstance(result, pa.Array):
        result = pa.array(result, returns)
    if len(result) != length:
        raise ValueError(f"it gave {len(result)} values for {length} rows")
    return result.cast(returns, safe=False)
