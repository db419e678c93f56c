"""The options that all table formats share, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.connectors.keys import key_columns, listed_names
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.connectors.times import duration_option

if TYPE_CHECKING:
    from windrow.connectors.runtime import SinkRequest

BAD_OPTION, NO_KEY = "WR911", "WR914"

RETRY = OptionSpec(
    "retry.timeout",
    OptionKind.DURATION,
    "how long a batch waits for a store that does not answer, or for others that commit, before the job stops",
    default="10m",
    example="1h",
)
STORAGE = OptionSpec(
    "storage.*",
    OptionKind.TEXT,
    "any setting of the library for where the files are, such as keys and addresses of an object store; never printed",
    example="http://localhost:9000",
    example_key="storage.endpoint",
    is_secret=True,
)
SINK_OPTIONS = (
    OptionSpec(
        "write.mode",
        OptionKind.CHOICE,
        "replace the row with the same key, or only add rows; upsert where there is a key",
        choices=("upsert", "append"),
        example="append",
    ),
    OptionSpec(
        "key",
        OptionKind.TEXT,
        "columns of the key; else the items marked PRIMARY KEY, else GROUP BY and the window",
        example="symbol,minute",
    ),
    OptionSpec(
        "table.create",
        OptionKind.BOOLEAN,
        "whether a missing table is created from the output's columns",
        default="true",
        example="false",
    ),
    OptionSpec("partition.by", OptionKind.TEXT, "columns whose values a table that is created is cut by, into folders", example="day"),
    RETRY,
)


@dataclass(frozen=True)
class LakeSettings:
    """``key`` is empty where rows are only added."""

    key: tuple[str, ...]
    creates: bool
    partitions: tuple[str, ...]
    retry_seconds: float

    @classmethod
    def of(cls, request: SinkRequest) -> LakeSettings:
        options = request.options
        return cls(
            key_columns(request, "append", NO_KEY),
            options.get("table.create", "true").lower() == "true",
            listed_names(options.get("partition.by", "")),
            retry_seconds(options),
        )


def retry_seconds(options: Mapping[str, str]) -> float:
    return duration_option(options, "retry.timeout", "10m", BAD_OPTION) / 1_000_000


def storage_options(options: Mapping[str, str]) -> dict[str, str]:
    prefix = STORAGE.key[:-1]
    return {key[len(prefix) :]: value for key, value in options.items() if key.lower().startswith(prefix)}
