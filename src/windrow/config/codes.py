"""The codes of ``windrow.yaml`` and of ``windrow init``, each declared once."""

from __future__ import annotations

NOT_YAML = "WR540"
UNKNOWN_KEY = "WR541"
BAD_VALUE = "WR542"
NO_ENVIRONMENT = "WR543"
BAD_EXTENDS = "WR544"
NO_MEANING = "WR545"
UNKNOWN_NAME = "WR546"
NO_PROJECT = "WR547"
NO_SUCH_LENGTH = "WR560"
NO_FILES = "WR561"

CODES: dict[str, str] = {
    NOT_YAML: "windrow.yaml is not YAML, or not a mapping of keys",
    UNKNOWN_KEY: "an unknown key in windrow.yaml",
    BAD_VALUE: "a key of windrow.yaml has a value that makes no sense",
    NO_ENVIRONMENT: "windrow.yaml has no environment of this name",
    BAD_EXTENDS: "an environment extends one that is not there, or itself",
    NO_MEANING: "a key of another system's configuration that has no meaning here",
    UNKNOWN_NAME: "windrow.yaml names a stream, an output or a window that no file of the project has",
    NO_PROJECT: "an environment was asked for, and there is no windrow.yaml",
    NO_SUCH_LENGTH: "windrow.yaml gives a window a length that windows of its kind do not have, or one that does not fit",
    NO_FILES: "a project has no files that could be run, checked or tested",
}
