"""Arguments that several commands take, and those with a long story."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Form(StrEnum):
    text = "text"
    json = "json"


class Shape(StrEnum):
    text = "text"
    json = "json"
    mermaid = "mermaid"
    dot = "dot"
    svg = "svg"


class Cut(StrEnum):
    per_row = "per_row"
    single = "single"
    marked = "marked"
    random = "random"


class Granularity(StrEnum):
    batch = "batch"
    row = "row"


class EngineKind(StrEnum):
    direct = "direct"
    streaming = "streaming"


class InputFormat(StrEnum):
    json = "json"
    parquet = "parquet"


class Switch(StrEnum):
    on = "on"
    off = "off"


class StateHome(StrEnum):
    resident = "resident"
    distributed = "distributed"


def _option(name: str, text: str, metavar: str | None = None) -> typer.models.OptionInfo:
    """An option without a default worth showing."""
    made: typer.models.OptionInfo = typer.Option(name, help=text, metavar=metavar, show_default=False)
    return made


Pack = Annotated[
    str | None,
    _option("--pack", "An archive of windrow pack, for the workers of a cluster: the same as --set workers.pack=FILE.", "FILE"),
]
Image = Annotated[
    str | None, _option("--image", "The image of the executors on Kubernetes: the same as --set workers.image=IMAGE.", "IMAGE")
]
Env = Annotated[str | None, _option("--env", "An environment of windrow.yaml, such as prod.", "NAME")]
AtServer = Annotated[
    str | None, _option("--server", "Ask a server of jobs, in the place of a state folder; FILE may be the name of a job.", "URL")
]
ServerToken = Annotated[
    Path | None,
    _option("--token-file", "With --server: a file with a token; else WINDROW_TOKEN, or that of your own server.", "FILE"),
]
SqlFile = Annotated[str, typer.Argument(metavar="FILE", help="A SQL file; - reads standard input.", show_default=False)]
SqlFiles = Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="SQL files; - reads standard input.", show_default=False)]
CaseFiles = Annotated[
    list[Path],
    typer.Argument(metavar="FILE...|DIR", help="Cases: .jsonl, one a line, or .json; or a folder with windrow.yaml.", show_default=False),
]
Target = Annotated[str, typer.Argument(metavar="FILE|STATE_DIR", help="The SQL file that ran, or its state folder.", show_default=False)]

RunFile = Annotated[
    str, typer.Argument(metavar="FILE|DIR", help="A SQL file, - for standard input, or a folder with windrow.yaml.", show_default=False)
]

FormOption = Annotated[Form, typer.Option("--format", help="For people or for programs.")]
ShapeOption = Annotated[Shape, typer.Option("--format", help="A tree, JSON, a Mermaid flowchart; dot and svg draw the topology.")]
Master = Annotated[str | None, _option("--master", "Spark master; local[*] if not given.", "URL")]
State = Annotated[str | None, _option("--state", "Where state lives; .windrow/<file> if not given.", "DIR")]
Settings = Annotated[list[str] | None, _option("--set", "A setting of Spark (spark.*) or of the run; repeatable.", "KEY=VALUE")]
Reach = Annotated[
    list[str] | None,
    _option("--set", "A setting of Spark (spark.*), where the state is not on a local disk; repeatable.", "KEY=VALUE"),
]
Interval = Annotated[str | None, _option("--trigger-interval", "Least time between two batches, such as 10s.", "DURATION")]
ListenAt = Annotated[str | None, _option("--listen", "Answer over HTTP: metrics, health, status (127.0.0.1:9464, unix:PATH).", "HOST:PORT")]
TokenFile = Annotated[
    Path | None, _option("--listen-token-file", "A file with the token that requests must bring; needed beyond loopback.", "FILE")
]
LogForm = Annotated[Form | None, _option("--log-format", "How logs are written: for people (text), or for programs (json).")]
LogFile = Annotated[Path | None, _option("--log-file", "Write logs to this file; older ones are kept beside it.", "FILE")]
Junit = Annotated[Path | None, _option("--junit", "Write a JUnit report.", "XML")]
Only = Annotated[str | None, _option("--filter", "Only cases with this in their name.", "TEXT")]
Batches = Annotated[Cut | None, _option("--batches", "Cut rows into batches so, whatever the case says.")]
Seed = Annotated[int | None, _option("--seed", "With --batches random: cut as in an earlier run, which showed its seed.", "NUMBER")]
Judging = Annotated[Granularity, typer.Option("--granularity", help="How rows of streams that a case does not declare are judged.")]
EngineOption = Annotated[EngineKind, typer.Option("--engine", help="The batches by themselves, or through Structured Streaming; slower.")]
InputOption = Annotated[InputFormat | None, _option("--format", "With --engine streaming: rows are files that the files connector reads.")]
PathsOption = Annotated[Switch, typer.Option("--fast-paths", help="Whether Spark is called in ways that it does not promise to keep.")]
HomeOption = Annotated[StateHome, typer.Option("--home", help="Where state lives: in the driver, or on the executors.")]
