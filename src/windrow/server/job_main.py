"""The process of a job: ``windrow`` with the arguments that follow, and a note of how it ended for whoever was not there to see it.

python -m windrow.server.job_main EXIT_FILE run query.sql --state ...
"""

from __future__ import annotations

import json
import os
import runpy
import sys


def main() -> None:
    exit_file, sys.argv = sys.argv[1], ["windrow", *sys.argv[2:]]
    code = 1
    try:
        runpy.run_module("windrow", run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        raise
    finally:
        temporary = f"{exit_file}.tmp"
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump({"pid": os.getpid(), "code": code}, file)
        os.replace(temporary, exit_file)


if __name__ == "__main__":
    main()
