"""What is started as the process of a job, as a module or, by a cluster's program, as a file; ``windrow.server.job_process`` does the rest.

python -m windrow.server.job_main FOLDER RUN VERSION MODULE ARGUMENTS...
"""

import os
import sys


def main() -> None:
    # As a file it would find the modules beside it before others of their names, Python's own (``secrets``) among them: nothing is imported
    # before they are out of the way.
    own = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [one for one in sys.path if one != own]
    from windrow.server.job_process import run

    run(sys.argv[1:])


if __name__ == "__main__":
    main()
