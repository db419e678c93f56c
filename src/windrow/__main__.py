"""``python -m windrow`` is the command line."""

from windrow.cli.main import main

main()
