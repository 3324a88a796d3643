"""SQLite for what is neither text nor derived: plain SQL, numbered migrations."""
