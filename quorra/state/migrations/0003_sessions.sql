-- Conversations and what happens in them. A moment is ISO 8601 with its offset; '' stands for none.
CREATE TABLE sessions (
    id TEXT NOT NULL PRIMARY KEY,
    principal TEXT NOT NULL,
    origin TEXT NOT NULL,
    scope TEXT,
    mode TEXT,
    entering INTEGER NOT NULL DEFAULT 0 CHECK (entering IN (0, 1)),
    purpose TEXT,
    title TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    changed TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_of ON sessions (principal, changed);

-- What was said and done, numbered from 0 in its session without a gap.
CREATE TABLE entries (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN (
        'user', 'assistant', 'tool_call', 'tool_result', 'approval_request', 'approval_resolved', 'notice'
    )),
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    run TEXT NOT NULL DEFAULT '',
    mark TEXT NOT NULL DEFAULT '' CHECK (mark IN ('', 'interrupted', 'failed')),
    call TEXT NOT NULL DEFAULT '',
    data TEXT NOT NULL DEFAULT '{}',
    ref TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (session, seq)
) STRICT;
CREATE INDEX entries_spoken ON entries (session, seq) WHERE kind IN ('user', 'assistant');
CREATE INDEX entries_of ON entries (run, seq) WHERE run <> '';
CREATE UNIQUE INDEX entries_ref ON entries (session, ref) WHERE ref <> '';

-- One turn each; question is the entry that asked.
CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    principal TEXT NOT NULL,
    question INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'paused', 'done', 'failed', 'cancelled')),
    backend TEXT NOT NULL,
    strategy TEXT NOT NULL,
    started TEXT NOT NULL,
    ended TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX runs_of ON runs (session);
CREATE INDEX runs_open ON runs (state) WHERE state IN ('running', 'paused');

-- A run's trace: ids, hashes, numbers and verdict words, never text.
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN (
        'prompt', 'retrieval', 'call', 'result', 'approval', 'verdict', 'retry', 'reply', 'interrupted'
    )),
    data TEXT NOT NULL,
    PRIMARY KEY (run, n)
) STRICT, WITHOUT ROWID;

-- What was done at tier 1 and above; sqlite_sequence remembers how many rows there ever were.
-- by is the key that was used, where one was; follows is the row that the log file ended with when the row's
-- transaction began.
CREATE TABLE audit (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    principal TEXT NOT NULL,
    by TEXT NOT NULL DEFAULT '',
    action TEXT NOT NULL,
    tool TEXT NOT NULL,
    tier INTEGER NOT NULL,
    session TEXT NOT NULL,
    run TEXT NOT NULL,
    target TEXT NOT NULL,
    ok INTEGER CHECK (ok IN (0, 1)),
    follows INTEGER NOT NULL,
    chain TEXT NOT NULL
) STRICT;
CREATE INDEX audit_of ON audit (tool, target);
CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is kept'); END;
CREATE TRIGGER audit_is_fixed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit is kept'); END;

-- The home's own random keys.
CREATE TABLE secrets (
    name TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- What a person is told afterwards.
CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    session TEXT NOT NULL DEFAULT '',
    run TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL CHECK (state IN ('queued', 'sent', 'seen', 'failed')),
    tries INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL,
    changed TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_waiting ON outbox (principal) WHERE state = 'queued';
CREATE INDEX outbox_of ON outbox (session) WHERE session <> '';

CREATE TABLE preferences (
    principal TEXT NOT NULL PRIMARY KEY,
    show_thinking INTEGER NOT NULL DEFAULT 1 CHECK (show_thinking IN (0, 1)),
    developer_mode INTEGER NOT NULL DEFAULT 0 CHECK (developer_mode IN (0, 1))
) STRICT;

-- A confirmation is an item that belongs to a session and a run; its digest names exactly what will be done.
ALTER TABLE inbox ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN tool TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE inbox ADD COLUMN expires TEXT NOT NULL DEFAULT '';
CREATE INDEX inbox_of ON inbox (session) WHERE session <> '';

-- A service's key lets it speak for people; alone it stands for nobody.
ALTER TABLE keys ADD COLUMN kind TEXT NOT NULL DEFAULT 'key' CHECK (kind IN ('key', 'service'));
