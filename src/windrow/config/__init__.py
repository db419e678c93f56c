"""``windrow.yaml``: what differs between a laptop and production, beside the files that are the same in both.

Takes the folder of a SQL file and the name of an environment; gives the project it belongs to, the values that hold in that
environment with the place each comes from, and the file compiled with them. Must not know: Spark, the command line.

``text`` reads YAML with places; ``keys`` says which keys there are, and ``foreign`` which of other systems' are understood; ``reading``
makes a ``Project`` of a file and checks it; ``environments`` lays parents and children over each other; ``overlay`` changes the
statements of a script; ``compiling`` joins includes, file and environment; ``schema`` and ``shown`` tell all that to editors and people.
"""

from windrow.config.compiling import case_text, compile_file, source_of
from windrow.config.environments import Environment, Origin, resolve
from windrow.config.finding import FILE_NAME, find_project, project_in
from windrow.config.reading import TOP, Project, read_project
from windrow.config.schema import SCHEMA_FILE, json_schema

__all__ = [
    "FILE_NAME",
    "SCHEMA_FILE",
    "TOP",
    "Environment",
    "Origin",
    "Project",
    "case_text",
    "compile_file",
    "find_project",
    "json_schema",
    "project_in",
    "read_project",
    "resolve",
    "source_of",
]
