"""CREATE FUNCTION: the Python function behind a name, found beside the SQL file or on Python's path."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from windrow.catalog.functions import Function, FunctionKind
from windrow.catalog.names import closest
from windrow.catalog.spelling import read_type
from windrow.model.statement import CreateFunction
from windrow.model.types import NULL, UNKNOWN, Array, ColumnDef, DataType, Map, Struct, is_numeric

# The names under which a function refuses types (see Function.refuses).
_FAMILIES = "BOOLEAN STRING BINARY DATE TIMESTAMP TIMESTAMP_NTZ INTERVAL VARIANT ARRAY<INT> MAP<STRING,INT> STRUCT".split()
_NUMBERS = "TINYINT SMALLINT INT BIGINT FLOAT DOUBLE DECIMAL(10,2)".split()
# Whether modules are left alone.
_IS_CLOSED: ContextVar[bool] = ContextVar("modules are left alone", default=False)
_ALIKE = ({"STRING", "BINARY"}, {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ"})


@dataclass(frozen=True)
class FunctionFault:
    """Why a Python function cannot be used."""

    statement: CreateFunction
    message: str
    hint: str


@dataclass(frozen=True)
class ScalarFunction:
    """A function that a package brings by the entry point ``windrow.functions``; called as if the file had created it.

    ``target`` is ``module:function``: Arrow arrays in, one Arrow array of the same length out. ``parameters`` are names and types.
    """

    target: str
    parameters: tuple[tuple[str, str], ...]
    returns: str
    doc: str

    def as_statement(self, name: str) -> CreateFunction:
        parameters = tuple(ColumnDef(each, read_type(type_)) for each, type_ in self.parameters)
        return CreateFunction(name, parameters, read_type(self.returns), self.target)


class _UnusableError(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def describe_function(statement: CreateFunction) -> Function:
    """What the checks know about a function that a script creates."""
    parameters = ", ".join(f"{parameter.name} {parameter.type}" for parameter in statement.parameters)
    types = [parameter.type for parameter in statement.parameters]
    return Function(
        name=statement.name.lower(),
        kind=FunctionKind.SCALAR,
        signature=f"{statement.name}({parameters})",
        doc=f"the Python function {statement.target}",
        counts=(len(statement.parameters),),
        returns=lambda _: statement.returns,
        refuses=tuple(_refused(type_) for type_ in types),
        numbers=tuple(position for position, type_ in enumerate(types) if is_numeric(type_)),
    )


def _refused(type_: DataType) -> frozenset[str]:
    """Types that do not go into a parameter. Numbers are judged by themselves, as text may read as one."""
    match type_:
        case _ if type_ in (UNKNOWN, NULL) or is_numeric(type_):
            return frozenset()
        case Array():
            own = {"ARRAY<INT>"}
        case Map():
            own = {"MAP<STRING,INT>"}
        case Struct():
            own = {"STRUCT"}
        case _:
            own = next((alike for alike in _ALIKE if str(type_) in alike), {str(type_)})
    return frozenset({*_FAMILIES, *_NUMBERS} - own - {"VARIANT"})


@contextmanager
def nothing_imported() -> Iterator[None]:
    """Within this, functions are taken at their word: a process that is not the job's runs none of its modules."""
    before = _IS_CLOSED.set(True)
    try:
        yield
    finally:
        _IS_CLOSED.reset(before)


def find_fault(statement: CreateFunction, folder: Path) -> FunctionFault | None:
    """Whether the function can be called as declared. Imports its module: what the module does then, it does in a check too."""
    if not statement.parameters:
        return FunctionFault(statement, f"{statement.name} has no parameter", f"CREATE FUNCTION {statement.name}(x DOUBLE) ...")
    if _IS_CLOSED.get():
        return None
    try:
        function = load_function(statement.target, folder)
        _judge_signature(statement, function)
    except _UnusableError as error:
        return FunctionFault(statement, error.message, error.hint)
    return None


def load_function(target: str, folder: Path) -> Callable[..., Any]:
    """The function that ``module:function`` names."""
    module_name, colon, name = target.partition(":")
    if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module_name.split(".")):
        raise _UnusableError(f"'{target}' does not name a function", "write 'module:function', such as 'pricing:discount'")
    module = _load_module(module_name, folder)
    function = getattr(module, name, None)
    if not callable(function):
        known = [each for each, value in vars(module).items() if inspect.isfunction(value)]
        similar = closest(name, known)
        what = "has no function" if function is None else "has something that cannot be called:"
        listed = f"{module_name} has: {', '.join(known)}" if known else f"define it there: def {name}(x): ..."
        meant = f"did you mean '{module_name}:{similar[0]}'? " if similar else ""
        raise _UnusableError(f'the module {module_name} {what} "{name}"', meant + listed)
    found: Callable[..., Any] = function
    return found


def _load_module(name: str, folder: Path) -> ModuleType:
    beside = folder.joinpath(*name.split(".")).with_suffix(".py")
    try:
        with _first_on_path(folder):
            if beside.is_file():
                return _load_file(name, beside)
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (error.name == name or name.startswith(f"{error.name}.")):
            hint = f"put {'/'.join(name.split('.'))}.py beside the SQL file, or install it"
            raise _UnusableError(f'there is no module "{name}" beside the file or on the path', hint) from error
        raise _UnusableError(f"the module {name} cannot be imported: {error}", f"install {error.name}") from error
    except Exception as error:
        first = next(iter(str(error).splitlines()), "")
        message = f"the module {name} cannot be imported: {type(error).__name__}: {first}"
        raise _UnusableError(message, f"try it by itself: python -c 'import {name}'") from error


def _load_file(name: str, path: Path) -> ModuleType:
    """A module of its own for each file: another folder's module of the same name may be loaded already."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Within this, a module can import its neighbours."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def _judge_signature(statement: CreateFunction, function: Callable[..., Any]) -> None:
    count = len(statement.parameters)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        given = f"{count} parameter{'' if count == 1 else 's'}"
        message = f"{statement.name} is declared with {given}, but the function is def {function.__name__}{signature}"
        raise _UnusableError(message, "declare as many parameters as it takes") from None
