"""How Polars keeps memory between two batches. It is told before it is first imported, so this comes before everything else."""

from __future__ import annotations

import os

# Read by the allocator in Polars' own library. A user's choice stays.
VARIABLE = "_RJEM_MALLOC_CONF"
# As it comes, memory goes back to the system at once, and every batch asks for the same again, page by page. Now it is kept for as long
# as a batch may be away.
_KEPT = "dirty_decay_ms:20000,muzzy_decay_ms:20000,background_thread:true"


def keep_memory() -> None:
    os.environ.setdefault(VARIABLE, _KEPT)
