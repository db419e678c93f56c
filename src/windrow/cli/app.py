"""The commands and how they fail. Only typer is imported here: help must answer at once."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec

import typer
from typer.core import TyperGroup

from windrow.cli.codes import NO_PACKAGE, UNEXPECTED
from windrow.errors import JobError, SqlError, UsageError, WindrowError

FAILED, WRONG, INTERRUPTED = 1, 2, 130
P = ParamSpec("P")


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """The command with every error turned into its text on standard error and the right exit code."""

    @wraps(command)
    def call(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except WindrowError as error:
            raise typer.Exit(report(error)) from None
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise typer.Exit(INTERRUPTED) from None
        except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
            raise
        except Exception as error:
            raise typer.Exit(report_unexpected(error)) from None

    return call


def report(error: WindrowError) -> int:
    """Show an error; its exit code."""
    _show_trace()
    if isinstance(error, SqlError):
        print(f"{error.source.name}:", file=sys.stderr)
    print(error, file=sys.stderr)
    return FAILED if isinstance(error, JobError) else WRONG


def report_unexpected(error: Exception) -> int:
    if isinstance(error, ModuleNotFoundError) and (lacking := missing_package(error)) is not None:
        return report(lacking)
    is_shown = _show_trace()
    print(describe_unexpected(error), file=sys.stderr)
    if not is_shown:
        print("  hint: this is a fault of Windrow; WINDROW_DEBUG=1 shows where it happened", file=sys.stderr)
    return FAILED


def missing_package(error: ModuleNotFoundError) -> UsageError | None:
    """What an environment lacks that was put together by hand, or into which a part only was installed; None for a module of ours.

    >>> missing_package(ModuleNotFoundError("No module named 'pyarrow.lib'", name="pyarrow.lib")).message.partition(" (")[0]
    'Windrow needs the package pyarrow, which this Python does not have'
    """
    package = (error.name or "").partition(".")[0]
    if package in ("", "windrow"):
        return None
    where = f"this Python does not have ({sys.executable})"
    return UsageError(
        NO_PACKAGE, f"Windrow needs the package {package}, which {where}", f"{sys.executable} -m pip install windrow, which brings it"
    )


def describe_unexpected(error: Exception) -> str:
    """
    >>> describe_unexpected(ValueError("no\\nmore"))
    '[WR999] unexpected ValueError: no'
    """
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"[{UNEXPECTED}] unexpected {type(error).__name__}" + (f": {first}" if first else "")


def _show_trace() -> bool:
    """The whole trace, where it was asked for."""
    from windrow.settings import is_debug

    if not is_debug():
        return False
    traceback.print_exc()
    return True


class ListsByDefault(TyperGroup):
    """Commands of which ``list`` may be left out: ``windrow dead-letters q.sql``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        is_known = bool(args) and self.get_command(ctx, args[0]) is not None
        return super().resolve_command(ctx, args if is_known else ["list", *args])


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"windrow {version('windrow')}")
        raise typer.Exit


def _options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", callback=_show_version, is_eager=True)] = False,
) -> None: ...


def new_app(title: str, start: str) -> typer.Typer:
    made = typer.Typer(
        name="windrow",
        help=title,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=start,
    )
    made.callback()(_options)
    return made


def new_group(text: str, *, is_listed: bool) -> typer.Typer:
    return typer.Typer(help=text, cls=ListsByDefault if is_listed else TyperGroup, no_args_is_help=True)
