-- The inbox: what waits for a person's yes. The payload holds the operations with their preconditions.
CREATE TABLE inbox (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    payload TEXT NOT NULL,
    principal TEXT NOT NULL,
    surface TEXT NOT NULL,
    reason TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN (
        'draft_ready', 'approved', 'applied', 'failed', 'declined', 'cancelled', 'expired'
    )),
    created TEXT NOT NULL,
    changed TEXT NOT NULL,
    shown TEXT NOT NULL,
    result TEXT
) STRICT;
CREATE INDEX inbox_open ON inbox (state, created);
