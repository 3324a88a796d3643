"""Who may see and change what: windows, decisions, the gate in front of the ledger."""
