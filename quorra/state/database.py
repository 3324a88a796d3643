"""The home's private database: opened in one way, brought up to date by numbered migrations."""

import hashlib
import hmac
import re
import secrets
import sqlite3
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

from quorra.errors import QuorraError

STATE = "state.db"
FOLDER = Path(__file__).parent / "migrations"
PATIENCE = 30_000
BRIEF = 1_000
IDENT = re.compile(r"[\w.:/@+=#~^!$-]{0,120}", re.ASCII)
PRAGMAS = (
    f"busy_timeout = {PATIENCE}",
    "secure_delete = ON",
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
)


class StateError(QuorraError):
    """The database can't be used as it is."""

    code = "state"


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered step of the schema; once released its text never changes."""

    number: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Gives the hash by which a changed migration is noticed."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations(folder: Path = FOLDER) -> tuple[Migration, ...]:
    """Reads the migrations in their order: files called ``0001_name.sql`` and so on without a gap."""
    found = []
    for number, file in enumerate(sorted(folder.glob("*.sql")), 1):
        head, _, name = file.stem.partition("_")
        if int(head) != number:
            raise StateError(f"Migration {number:04d} is missing in {folder}.", "Install Quorra again.")
        found.append(Migration(number, name, file.read_text(encoding="utf-8")))
    return tuple(found)


class Database:
    """One open database; threads share it, each statement or transaction at a time."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._depth = 0
        self._secrets: dict[str, bytes] = {}
        self._after: list[Callable[[], None]] = []

    def ask(self, sql: str, *values: str | bytes | float | None) -> list[sqlite3.Row]:
        """Runs one statement, which commits by itself outside a transaction; raises StateError."""
        try:
            with self._lock:
                try:
                    return self._connection.execute(sql, values).fetchall()
                except (UnicodeEncodeError, OverflowError):
                    return self._connection.execute(sql, [_fitted(value) for value in values]).fetchall()
        except sqlite3.Error as error:
            raise trouble(error, str(self.path)) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes all that is asked inside happen or nothing, no other writer between; one inside another joins it."""
        with self._lock:
            if self._depth:
                yield
                return
            self.ask("BEGIN IMMEDIATE")
            self._depth, self._after = 1, []
            try:
                yield
                self.ask("COMMIT")
            finally:
                self._depth = 0
                if self._connection.in_transaction:
                    self._connection.rollback()
            for work in self._after:
                work()

    def framed(self, before: Callable[[], None], after: Callable[[], None]) -> None:
        """Does ``before`` now and ``after`` when the transaction is committed, once in it however often asked.

        ``after`` runs before any other thread's statement; what it raises leaves what was committed as it is.
        """
        if after not in self._after:
            before()
            self._after.append(after)

    def secret(self, name: str) -> bytes:
        """Gives one of the home's own random keys, made when first asked for."""
        if name not in self._secrets:
            self.ask("INSERT OR IGNORE INTO secrets VALUES (?, ?)", name, secrets.token_bytes(32))
            ((value,),) = self.ask("SELECT value FROM secrets WHERE name = ?", name)
            self._secrets[name] = value
        return self._secrets[name]

    def sealed(self, text: str) -> str:
        """Gives the keyed hash by which a text can be known again, but not read."""
        told = text.encode("utf-8", "surrogatepass")
        return "hmac:" + hmac.new(self.secret("seal"), told, hashlib.sha256).hexdigest()

    def named(self, text: str) -> str:
        """Gives an id, a plain path or a single word as it is, and any other text sealed."""
        return text if IDENT.fullmatch(text) else self.sealed(text)

    def settle(self) -> bool:
        """Takes what was removed out of the database's log as well; False where that is in use just now."""
        with self._lock:
            if self._depth:
                return False
            self.ask(f"PRAGMA busy_timeout = {BRIEF}")
            try:
                return not self.ask("PRAGMA wal_checkpoint(TRUNCATE)")[0]["busy"]
            finally:
                self.ask(f"PRAGMA busy_timeout = {PATIENCE}")

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()


def open(path: Path, steps: Sequence[Migration] | None = None) -> Database:
    """Opens the database, made and migrated where needed; raises StateError.

    Deleted text is overwritten on the medium, and a write waits half a minute for another's.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE / 1000, check_same_thread=False)
    with ExitStack() as broken:
        broken.callback(connection.close)
        try:
            connection.row_factory = sqlite3.Row
            connection.create_function("holds", 2, _holds, deterministic=True)
            _set_up(connection)
            _migrate(connection, path, migrations() if steps is None else steps)
        except sqlite3.DatabaseError as error:
            raise trouble(error, str(path)) from error
        broken.pop_all()
    return Database(connection, path)


def _set_up(connection: sqlite3.Connection) -> None:
    """Sets the pragmas; where another process mends or changes the log just then, SQLite itself waits for nobody."""
    end = monotonic() + PATIENCE / 1000
    while True:
        try:
            for pragma in PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > end:
                raise
            sleep(0.02)


def copy(source: Path, target: Path) -> None:
    """Copies a database that may be in use and written to, as it is at one moment; raises StateError."""
    target.touch(mode=0o600)
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as here:
            here.execute(f"PRAGMA busy_timeout = {PATIENCE}")
            with closing(sqlite3.connect(target)) as there:
                here.backup(there)
                (found,) = there.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(found)
    except sqlite3.DatabaseError as error:
        raise trouble(error, str(source)) from error


def trouble(error: sqlite3.Error, what: str) -> StateError:
    """Says what SQLite could not do, and what helps."""
    helps = "Mend it, or bring it back from a backup."
    if "full" in str(error):
        helps = "Make room and try again."
    elif "locked" in str(error):
        helps = "Another process is writing; try again in a moment."
    elif "I/O" in str(error):
        # What SQLite says of a full disk, too, where it could not make a file beside the database.
        helps = "Make room, or see what ails the disk, and try again."
    return StateError(f"{what} can't be used: {error}.", helps)


def folded(text: str) -> str:
    """Gives a text as it is compared: without regard to case and to how a letter is composed."""
    return unicodedata.normalize("NFKC", text).casefold()


def _fitted(value: str | bytes | float | None) -> str | bytes | float | None:
    """Gives what SQLite can hold: half a surrogate pair becomes a question mark, a number fits 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return max(-(2**63), min(value, 2**63 - 1)) if isinstance(value, int) else value


def _holds(text: str, words: str) -> bool:
    found = folded(text)
    return all(word in found for word in words.split("\n"))


def _migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> None:
    if _behind(connection, path, steps):
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            # Another process may have migrated while this one waited for the lock.
            for step in _behind(connection, path, steps):
                _apply(connection, step)


def _behind(connection: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> Sequence[Migration]:
    """Gives the steps that the database lacks; raises StateError where it is not one of ours."""
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'migrations'").fetchone()
    if known is None:
        return steps
    done = connection.execute("SELECT number, name, checksum FROM migrations ORDER BY number").fetchall()
    if len(done) > len(steps):
        message = f"{path} was written by a newer Quorra (schema {len(done)}, this one knows {len(steps)})."
        raise StateError(message, "Install the newer Quorra again.")
    for row, step in zip(done, steps, strict=False):
        if (row["number"], row["checksum"]) != (step.number, step.checksum):
            message = f"Migration {row['number']:04d} ({row['name']}) of {path} differs from the one shipped here."
            raise StateError(message, "Install the Quorra that made this home, or bring back a backup.")
    return steps[len(done) :]


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    if step.number == 1:
        connection.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL) STRICT"
        )
    # executescript would commit the transaction that this runs in.
    for statement in _statements(step.sql):
        connection.execute(statement)
    connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (step.number, step.name, step.checksum))


def _statements(sql: str) -> list[str]:
    found, text = [], ""
    for piece in sql.split(";"):
        text += piece + ";"
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    return [statement for statement in found if statement.strip(" \n;")]
