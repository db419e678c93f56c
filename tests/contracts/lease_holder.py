"""Holds the lease of a folder and writes a file when told to, if it still holds it: ``python lease_holder.py SECONDS ADDRESS SETTINGS``."""

from __future__ import annotations

import json
import sys

from windrow.errors import WindrowError
from windrow.storage import open_folder
from windrow.storage.lease import Lease, LeaseTerm


def main() -> None:
    seconds, address, settings = sys.argv[1:4]
    folder = open_folder(address, settings=json.loads(settings))
    lease = Lease(folder, "job", LeaseTerm(float(seconds)))
    print("epoch", lease.epoch, flush=True)
    for line in sys.stdin:
        try:
            lease.check()
            folder.replace_atomically(line.split()[1], b"mine")
            print("written", flush=True)
        except WindrowError as error:
            print(error.code, flush=True)


if __name__ == "__main__":
    main()
