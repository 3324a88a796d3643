CREATE TABLE kept (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- The rooms that the bot is in; what was said in one before it came is not for it.
CREATE TABLE rooms (room TEXT PRIMARY KEY) STRICT;

-- What came in, in its order. source is the event's JSON while it waits, and empty once it is done with.
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    event TEXT NOT NULL UNIQUE,
    room TEXT NOT NULL,
    sender TEXT NOT NULL,
    came TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'locked', 'done')),
    source TEXT NOT NULL
) STRICT;
CREATE INDEX events_open ON events (room, seq) WHERE state <> 'done';

-- What goes out; a transaction id is never used for anything else, so that a repeat is no second message.
CREATE TABLE sends (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    txn TEXT NOT NULL UNIQUE,
    room TEXT NOT NULL,
    content TEXT NOT NULL,
    sent TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX sends_open ON sends (room, seq) WHERE sent = '';

CREATE TABLE sessions (
    room TEXT NOT NULL,
    person TEXT NOT NULL,
    session TEXT NOT NULL,
    PRIMARY KEY (room, person)
) STRICT;

CREATE TABLE confirmations (
    id TEXT PRIMARY KEY,
    room TEXT NOT NULL,
    person TEXT NOT NULL,
    session TEXT NOT NULL,
    digest TEXT NOT NULL,
    expires TEXT NOT NULL,
    txn TEXT NOT NULL,
    shown TEXT NOT NULL DEFAULT '',
    open INTEGER NOT NULL DEFAULT 1,
    -- Something else was said in the room since: a bare yes is not clearly meant for this any more.
    aside INTEGER NOT NULL DEFAULT 0
) STRICT;

-- When a sentence that is not to be said often was said last.
CREATE TABLE said (subject TEXT NOT NULL, what TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (subject, what)) STRICT;

-- What a reply has told of already, so that the outbox does not tell it again.
CREATE TABLE told (run TEXT NOT NULL, subject TEXT NOT NULL, PRIMARY KEY (run, subject)) STRICT;
