"""The database opens, migrates and refuses what it should."""

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from quorra.state import database
from quorra.state.database import Migration, StateError

FIRST = Migration(1, "first", "CREATE TABLE a (x TEXT) STRICT; INSERT INTO a VALUES ('a;b'); -- the end;\n")
SECOND = Migration(2, "second", "ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 2;")


def test_a_new_database_has_every_migration_and_is_private(tmp_path: Path):
    path = tmp_path / ".quorra" / "state.db"
    state = database.open(path)
    done = state.ask("SELECT number FROM migrations ORDER BY number")
    assert [row["number"] for row in done] == [step.number for step in database.migrations()]
    pragmas = {name: state.ask(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "secure_delete")}
    assert pragmas == {"journal_mode": "wal", "secure_delete": 1}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_later_migrations_are_added_to_what_is_there(tmp_path: Path):
    path = tmp_path / "state.db"
    database.open(path, [FIRST]).close()
    state = database.open(path, [FIRST, SECOND])
    assert [tuple(row) for row in state.ask("SELECT x, y FROM a")] == [("a;b", 2)]
    state.close()
    database.open(path, [FIRST, SECOND]).close()


def test_a_newer_database_is_refused(tmp_path: Path):
    path = tmp_path / "state.db"
    database.open(path, [FIRST, SECOND]).close()
    with pytest.raises(StateError, match="newer Quorra"):
        database.open(path, [FIRST])


def test_a_changed_migration_is_refused(tmp_path: Path):
    path = tmp_path / "state.db"
    database.open(path, [FIRST]).close()
    with pytest.raises(StateError, match="0001"):
        database.open(path, [Migration(1, "first", FIRST.sql + " ")])


def test_a_migration_that_fails_leaves_nothing(tmp_path: Path):
    path = tmp_path / "state.db"
    database.open(path, [FIRST]).close()
    with pytest.raises(StateError):
        database.open(path, [FIRST, Migration(2, "bad", "CREATE TABLE b (x TEXT); INSERT INTO nothing VALUES (1);")])
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM migrations").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_master WHERE name = 'b'").fetchone() is None


def test_a_file_that_is_no_database_is_said(tmp_path: Path):
    path = tmp_path / "state.db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StateError, match=r"state\.db"):
        database.open(path)
    assert path.read_bytes() == b"not a database" * 100


def test_what_a_full_disk_looks_like_to_sqlite_asks_for_room_not_for_a_backup():
    for said in ("database or disk is full", "disk I/O error"):
        assert database.trouble(sqlite3.OperationalError(said), "It").next.startswith("Make room")
    assert "try again" in database.trouble(sqlite3.OperationalError("database is locked"), "It").next
    assert "backup" in database.trouble(sqlite3.DatabaseError("file is not a database"), "It").next


def test_many_open_a_new_one_at_once(tmp_path: Path):
    def work(_: int) -> None:
        database.open(tmp_path / "state.db").close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_a_gap_in_the_migrations_is_said(tmp_path: Path):
    (tmp_path / "0001_a.sql").write_text("")
    (tmp_path / "0003_c.sql").write_text("")
    with pytest.raises(StateError, match="0002"):
        database.migrations(tmp_path)


def test_a_transaction_happens_whole_or_not_and_one_inside_another_joins_it(tmp_path: Path):
    state, other = (database.open(tmp_path / "state.db", [FIRST]) for _ in range(2))
    with pytest.raises(KeyError), state.transaction():
        put_twice(state)
    assert held(other) == ["a;b"]
    with state.transaction():
        with state.transaction():
            state.ask("INSERT INTO a VALUES ('c')")
        assert held(other) == ["a;b"]
        assert held(state) == ["a;b", "c"]
    assert held(other) == ["a;b", "c"]


def put_twice(state: database.Database) -> None:
    with state.transaction():
        state.ask("INSERT INTO a VALUES ('lost')")
    raise KeyError


def held(state: database.Database) -> list[str]:
    return [row["x"] for row in state.ask("SELECT x FROM a ORDER BY rowid")]


def test_no_thread_gets_into_another_s_transaction(tmp_path: Path):
    state = database.open(tmp_path / "state.db", [FIRST])

    def add(_: int) -> None:
        with state.transaction():
            ((count,),) = state.ask("SELECT count(*) FROM a")
            state.ask("INSERT INTO a VALUES (?)", str(count))

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(add, range(200)))
    assert held(state) == ["a;b", *map(str, range(1, 201))]


def test_what_frames_a_transaction_runs_once_and_only_if_it_is_kept(tmp_path: Path):
    state, seen = database.open(tmp_path / "state.db", [FIRST]), []

    def before() -> None:
        seen.append("before")

    def after() -> None:
        seen.append(str(len(held(state))))

    with state.transaction():
        for _ in range(2):
            state.framed(before, after)
            state.ask("INSERT INTO a VALUES ('x')")
    assert seen == ["before", "3"]
    with suppress(KeyError), state.transaction():
        state.framed(before, after)
        raise KeyError
    with state.transaction():
        pass
    assert seen == ["before", "3", "before"]


def test_a_home_s_secrets_are_made_once_whoever_asks(tmp_path: Path):
    def work(_: int) -> bytes:
        return database.open(tmp_path / "state.db").secret("seal")

    with ThreadPoolExecutor(8) as pool:
        (made,) = set(pool.map(work, range(8)))
    assert len(made) == 32
    state = database.open(tmp_path / "state.db")
    assert state.secret("audit") != made
    assert state.sealed("a b") == database.open(tmp_path / "state.db").sealed("a b") != state.sealed("a c")
    assert [state.named(text) for text in ("note", "", "$e:x.org", "household/boiler.md")] == [
        "note", "", "$e:x.org", "household/boiler.md",
    ]  # fmt: skip
    assert [state.named(text) for text in ("two words", "é", "a\n", "x" * 121)] == [
        state.sealed(text) for text in ("two words", "é", "a\n", "x" * 121)
    ]
