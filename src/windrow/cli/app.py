"""The commands and how they fail. Only typer is imported here: help must answer at once."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import click
import typer
from typer.core import TyperGroup

from windrow.cli.codes import UNEXPECTED
from windrow.errors import JobError, SqlError, WindrowError

FAILED, WRONG, INTERRUPTED = 1, 2, 130


class Commands(TyperGroup):
    """Turns every error into its text on standard error and the right exit code, whichever command it comes from."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except WindrowError as error:
            raise SystemExit(report(error)) from None
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            raise SystemExit(INTERRUPTED) from None
        except (click.ClickException, click.exceptions.Exit, click.exceptions.Abort, BrokenPipeError):
            raise
        except Exception as error:
            raise SystemExit(report_unexpected(error)) from None


def report(error: WindrowError) -> int:
    """Show an error; its exit code."""
    _show_trace()
    if isinstance(error, SqlError):
        print(f"{error.source.name}:", file=sys.stderr)
    print(error, file=sys.stderr)
    return FAILED if isinstance(error, JobError) else WRONG


def report_unexpected(error: Exception) -> int:
    is_shown = _show_trace()
    print(describe_unexpected(error), file=sys.stderr)
    if not is_shown:
        print("  hint: this is a fault of Windrow; WINDROW_DEBUG=1 shows where it happened", file=sys.stderr)
    return FAILED


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


app = typer.Typer(
    name="windrow",
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Streaming SQL with event-time windows, on Apache Spark.",
    epilog="Start with: windrow demo",
)
