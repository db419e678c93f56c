"""A job's batches: operators run in order, and the ledger, the clocks and the result of each batch are kept."""
