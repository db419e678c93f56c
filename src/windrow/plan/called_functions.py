"""The Python functions that a file may call: those that it creates, and those of installed packages that it names."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from windrow.catalog.function_code import code_of
from windrow.catalog.functions import functions
from windrow.catalog.python_functions import ScalarFunction
from windrow.model.expr import Call, walk
from windrow.model.statement import CreateFunction, Script
from windrow.plan.stages import PythonFunction
from windrow.plugins import FUNCTIONS, load_plugin


def called_functions(script: Script, folder: str) -> tuple[PythonFunction, ...]:
    created = [each for each in script.statements if isinstance(each, CreateFunction)]
    return tuple(_callable(each, folder) for each in (*created, *_of_packages(script, {each.name.lower() for each in created})))


def _callable(created: CreateFunction, folder: str) -> PythonFunction:
    parameters = tuple(parameter.type for parameter in created.parameters)
    code = code_of(created.target, Path(folder))
    return PythonFunction(created.name.lower(), parameters, created.returns, created.target, folder, code)


def _of_packages(script: Script, created: set[str]) -> Iterable[CreateFunction]:
    """Functions of installed packages that a file calls, as if it had created them."""
    called = {node.name.lower() for statement in script.statements for node in walk(statement) if isinstance(node, Call)}
    for name in sorted(called - created - functions().keys()):
        found = load_plugin(FUNCTIONS, name, ScalarFunction)
        if found is not None:
            yield found.as_statement(name)
