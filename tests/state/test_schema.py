"""The schema: everything private knows whose it is, keys are never null, and migrations keep what was there."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quorra.state import database
from quorra.state.database import Database, StateError
from quorra.state.inbox import Inbox, Item
from quorra.state.keys import Keys
from quorra.state.sessions import Sessions

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
OURS = {"migrations", "secrets"}
"""Tables of the home itself, which hold nothing that anyone said or did."""


@pytest.fixture
def state(tmp_path: Path) -> Database:
    return database.open(tmp_path / "state.db")


def tables(state: Database) -> list[str]:
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
    return [row["name"] for row in state.ask(sql)]


def owned(state: Database, table: str) -> bool:
    """Tells whether a table's rows have a principal, or hang on rows that have one and go with them."""
    columns = {row["name"]: row for row in state.ask(f"PRAGMA table_info({table})")}
    if "principal" in columns:
        return bool(columns["principal"]["notnull"])
    return any(
        columns[row["from"]]["notnull"] and row["on_delete"] == "CASCADE" and owned(state, row["table"])
        for row in state.ask(f"PRAGMA foreign_key_list({table})")
    )


def test_q_242_every_stored_thing_knows_its_principal(state: Database):
    assert {table for table in tables(state) if not owned(state, table)} == OURS
    assert set(tables(state)) >= {"sessions", "entries", "runs", "events", "audit", "outbox", "preferences", "inbox"}


def test_a_table_without_a_principal_is_noticed(state: Database):
    state.ask("CREATE TABLE loose (session TEXT NOT NULL REFERENCES sessions (id), text TEXT)")
    assert not owned(state, "loose")


def test_every_table_is_strict_and_no_key_is_nullable(state: Database):
    strict = {row["name"]: row["strict"] for row in state.ask("PRAGMA table_list")}
    assert all(strict[table] for table in tables(state))
    nullable = {
        (table, row["name"])
        for table in tables(state)
        for row in state.ask(f"PRAGMA table_info({table})")
        if row["pk"] and not row["notnull"] and row["type"] != "INTEGER"
    }
    assert nullable == set()
    for table in tables(state):
        for index in state.ask(f"PRAGMA index_list({table})"):
            columns = {row["name"]: row["notnull"] for row in state.ask(f"PRAGMA table_info({table})")}
            if index["unique"] and index["origin"] != "pk":
                assert all(columns[row["name"]] for row in state.ask(f"PRAGMA index_info({index['name']})"))


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        (
            "SELECT * FROM entries WHERE session = 'x' AND kind IN ('user', 'assistant') ORDER BY seq DESC",
            "entries_spoken",
        ),
        ("SELECT max(seq) FROM entries WHERE session = 'x'", "sqlite_autoindex_entries_1"),
        ("SELECT * FROM entries WHERE run = 'x' AND run <> '' ORDER BY seq", "entries_of"),
        ("SELECT * FROM entries WHERE session = 'x' AND ref = 'y' AND ref <> ''", "entries_ref"),
        ("SELECT * FROM sessions WHERE principal = 'x' ORDER BY changed DESC", "sessions_of"),
        ("SELECT max(n) FROM audit WHERE tool = 'x' GROUP BY target", "audit_of"),
        ("SELECT * FROM outbox WHERE principal = 'x' AND state = 'queued'", "outbox_waiting"),
        ("SELECT * FROM runs WHERE session = 'x'", "runs_of"),
    ],
)
def test_what_is_asked_often_has_an_index(state: Database, sql: str, index: str):
    plan = " ".join(row["detail"] for row in state.ask(f"EXPLAIN QUERY PLAN {sql}"))
    assert index in plan
    assert "SCAN" not in plan
    assert "TEMP B-TREE" not in plan


def test_a_home_from_before_conversations_keeps_its_keys_and_its_inbox(tmp_path: Path):
    path, steps = tmp_path / "state.db", database.migrations()
    old = database.open(path, steps[:2])
    old.ask("INSERT INTO keys VALUES ('k1', 'phone', 'member:mira', 'hash', '2026-11-30T12:00:00+00:00', NULL)")
    old.ask(
        "INSERT INTO inbox VALUES ('i1', 'note', 'A title', '{\"path\": \"a.md\"}', 'owner', 'cli', 'why',"
        " 'draft_ready', '2026-11-30T12:00:00+00:00', '2026-11-30T12:00:00+00:00', '', NULL)"
    )
    old.close()
    state = database.open(path)
    (key,) = Keys(state).every()
    assert (key.id, key.principal, key.revoked, key.kind) == ("k1", "member:mira", None, "key")
    moment = "2026-11-30T12:00:00+00:00"
    wanted = Item(
        "i1", "note", "A title", {"path": "a.md"}, "owner", "cli", "why", "draft_ready", moment, moment, "", None
    )
    assert Inbox(state).waiting() == (wanted,)
    assert Sessions(state).every("owner") == ()
    with pytest.raises(StateError, match="newer Quorra"):
        database.open(path, steps[:2])


def test_a_copy_of_a_database_in_use_holds_its_conversations(tmp_path: Path, state: Database):
    sessions = Sessions(state)
    session = sessions.begin("owner", "standard", NOW)
    entry = sessions.append(session.id, "user", "hello", NOW)
    database.copy(tmp_path / "state.db", tmp_path / "copy.db")
    assert Sessions(database.open(tmp_path / "copy.db")).entries(session.id) == (entry,)
    with sqlite3.connect(tmp_path / "copy.db") as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()
