"""``--state``: from the file that ran, or what the user names, to the folder with the state of its jobs. Starts no Spark.

A folder that is not on a local disk is reached through a JVM that is started for it, which takes a second or two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.storage import Folder


def opened_state(file: str, state: str | None, settings: list[str] | None = None, env: str | None = None) -> Folder:
    """``settings`` are entries of ``--set``, ``env`` an environment of windrow.yaml, which has its state in a folder of its own."""
    from windrow.cli.files import stem
    from windrow.cli.project import chosen_for
    from windrow.cli.set_options import read_settings
    from windrow.jobs.options import SPARK
    from windrow.jobs.state_folder import state_folder
    from windrow.settings import load_settings

    # A folder of state is no part of a project: only the name of a file leads to one.
    chosen = state or chosen_for(file, env).state(None, load_settings(), stem(file))
    spark = {key: value for key, value in read_settings(settings or []).items() if key.startswith(SPARK)}
    return state_folder(chosen, settings=spark)
