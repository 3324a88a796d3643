"""One turn of the ledger: planned, written down, carried out; finished or undone where it was cut short."""
