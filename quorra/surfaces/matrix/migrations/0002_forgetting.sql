-- When a message was to be sent, so that it can be forgotten; empty for what was there before.
ALTER TABLE sends ADD COLUMN at TEXT NOT NULL DEFAULT '';

-- In which room a reply told of something, and when.
ALTER TABLE told ADD COLUMN room TEXT NOT NULL DEFAULT '';
ALTER TABLE told ADD COLUMN at TEXT NOT NULL DEFAULT '';

-- The room has been told that this one can't be read.
ALTER TABLE events ADD COLUMN told INTEGER NOT NULL DEFAULT 0;
