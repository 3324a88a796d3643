"""The audit: what was done at tier 1 and above, as chained rows and as lines of a file that is only added to.

A transaction that records anything sees first that the file holds every row
committed so far; its own lines follow its commit. Whatever ends a process thus
leaves the file short by lines of one transaction at most, and those are added
when the audit is next opened or used. What else is wrong with the file is left
as it is and told by ``verify``.
"""

import fcntl
import hashlib
import hmac
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from quorra.state.database import Database, StateError

T = TypeVar("T")
LOG = "audit.log"
MADE = "log_made"
_FIELDS = ("n", "at", "principal", "by", "action", "tool", "tier", "session", "run", "target", "ok", "follows")
_COLUMNS = ", ".join((*_FIELDS, "chain"))
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Act:
    """One thing done; ``target`` is the sealed name of what it was done to, ``ok`` None where that is not known yet.

    ``by`` is the id of the key that was used: a service's where it spoke for the principal, else one of their own.
    """

    n: int
    at: str
    principal: str
    by: str
    action: str
    tool: str
    tier: int
    session: str
    run: str
    target: str
    ok: bool | None
    chain: str


class Audit:
    """The audit of one home; several threads and processes may record at once, inside their transactions or alone."""

    def __init__(self, database: Database, file: Path) -> None:
        """Opens the audit and adds to its file what a killed process left out; raises StateError."""
        self.file = file
        self._database = database
        self._ask = database.ask
        self._base = 0
        with database.transaction():
            self._mend()

    def record(
        self, now: datetime, *, principal: str, action: str, tool: str = "", tier: int = 0, session: str = "",
        run: str = "", target: str = "", ok: bool | None = None, by: str = "",
    ) -> int:  # fmt: skip
        """Records an action and gives its number; raises StateError where it can't be kept: then don't act.

        ``target`` is kept sealed, and so is whatever else is no id or single word.
        """
        named = self._database.named
        with self._database.transaction():
            self._database.framed(lambda: self._prepare(now), self._follow)
            return self._add(
                now.isoformat(), named(principal), named(by), named(action), named(tool), tier, named(session),
                named(run), self._database.sealed(target) if target else "", ok,
            )  # fmt: skip

    def act(
        self, clock: Callable[[], datetime], do: Callable[[], T], good: Callable[[T], bool], *, principal: str,
        action: str, tool: str, tier: int, target: str, by: str = "",
    ) -> T:  # fmt: skip
        """Does something that is recorded before it happens, and after; raises what it raises."""
        record = partial(self.record, principal=principal, tool=tool, tier=tier, target=target, by=by)
        record(clock(), action=action)
        ok = False
        try:
            done = do()
            ok = good(done)
            return done
        finally:
            record(clock(), action="done" if ok else "failed", ok=ok)

    def unended(self, tool: str, targets: Iterable[str]) -> Mapping[str, Act]:
        """Gives what was begun with a tool and never ended, by its target: a process died over it, or is at it."""
        sql = (
            f"SELECT {_COLUMNS} FROM audit WHERE n IN (SELECT max(n) FROM audit WHERE tool = ? GROUP BY target)"
            " AND ok IS NULL"
        )
        begun = {row["target"]: _act(row) for row in self._ask(sql, self._database.named(tool))}
        sealed = ((target, self._database.sealed(target)) for target in targets) if begun else ()
        return {target: begun[seal] for target, seal in sealed if seal in begun}

    def entries(self, after: int = 0, limit: int = 100) -> tuple[Act, ...]:
        """Gives what was done behind a number, in its order."""
        rows = self._ask(f"SELECT {_COLUMNS} FROM audit WHERE n > ? ORDER BY n LIMIT ?", after, limit)
        return tuple(_act(row) for row in rows)

    def latest(self, run: str) -> tuple[Act, ...]:
        """Gives the last word on each tool of a run: ``approved`` before it has begun, ``call`` where it may have."""
        ends = "'approved', 'call', 'done', 'failed', 'interrupted'"
        sql = f"SELECT {_COLUMNS} FROM audit WHERE run = ? AND action IN ({ends}) ORDER BY n"
        return tuple({row["tool"]: _act(row) for row in self._ask(sql, run)}.values())

    def verify(self) -> list[str]:
        """Says in sentences what is wrong with the rows, the file, or the two together."""
        with self._database.transaction():
            self._mend()
            ever = self._ever()
            size = self._size()
        # What was there then is never changed, so others may go on recording.
        kept: dict[int, bytes] = {}
        return [*self._chained(ever, kept), *self._written(size, kept)]

    def _add(self, at: str, *values: str | int | None) -> int:
        last = self._ask("SELECT chain FROM audit ORDER BY n DESC LIMIT 1")
        n = self._ever() + 1
        row = (n, at, *values, self._base)
        chain = self._chain(last[0]["chain"] if last else "", row)
        self._ask(f"INSERT INTO audit ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row, chain)
        return n

    def _chain(self, before: str, row: Iterable[Any]) -> str:
        text = f"{before}\n{json.dumps([int(part) if isinstance(part, bool) else part for part in row])}"
        return hmac.new(self._database.secret("audit"), text.encode(), hashlib.sha256).hexdigest()

    def _ever(self) -> int:
        """Gives how many rows there ever were."""
        rows = self._ask("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")
        return rows[0]["seq"] if rows else 0

    def _size(self) -> int:
        return self.file.stat().st_size if self.file.exists() else 0

    def _prepare(self, now: datetime) -> None:
        """Brings the file up to the rows before a new one; that a file which is gone is made anew is recorded first."""
        self._mend()
        rows = self._ask("SELECT n FROM audit ORDER BY n DESC LIMIT 1")
        self._base = rows[0]["n"] if rows else 0
        if self._base and not self._size():
            self._add(now.isoformat(), "quorra", "", MADE, "", 1, "", "", "", True)

    def _mend(self) -> None:
        """Adds the lines that a process did not come to write; leaves alone a file that is wrong otherwise."""
        if self._ask("SELECT 1 FROM audit LIMIT 1"):
            with self._log() as log:
                _write(log, self._rest(log) or b"")

    def _follow(self) -> None:
        """Adds the lines of what was just committed, whatever else the file holds."""
        with self._log() as log:
            rest = self._rest(log)
            if rest is None and not os.fstat(log).st_size:
                for row in self._rows(0, self._ever()):
                    _write(log, _line(row))
            elif rest is None:
                torn = os.pread(log, 1, os.fstat(log).st_size - 1) != b"\n"
                _write(log, b"\n" * torn + b"".join(self._last()[1]))
            else:
                _write(log, rest)

    def _rest(self, log: int) -> bytes | None:
        """Gives the lines of the last transaction that the file lacks; None where it does not end as the rows tell."""
        before, lines = self._last()
        wanted, size = b"".join(lines), os.fstat(log).st_size
        start = size - len(before or b"") - len(wanted)
        tail = os.pread(log, size, max(0, start))
        if before is None:
            held = tail if start <= 0 else b"\0"
        else:
            _, found, held = tail.rpartition(before)
            held = held if found else b"\0"
        return wanted[len(held) :] if wanted.startswith(held) else None

    def _last(self) -> tuple[bytes | None, list[bytes]]:
        """Gives the line that the last transaction follows, None for the first one, and that transaction's lines."""
        sql = f"SELECT {_COLUMNS} FROM audit WHERE n >= (SELECT follows FROM audit ORDER BY n DESC LIMIT 1) ORDER BY n"
        rows = self._ask(sql)
        first = rows[-1]["follows"]
        lines = [_line(row) for row in rows if row["n"] > first]
        return (_line(rows[0]) if first else None), lines

    @contextmanager
    def _log(self) -> Iterator[int]:
        """Opens the file for one process at a time, always with the database held, so that nobody waits in a ring."""
        try:
            new = not self.file.exists()
            log = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(log, fcntl.LOCK_EX)
                yield log
            finally:
                os.close(log)
            if new:
                _settle(self.file.parent)
        except OSError as error:
            message = f"{self.file} can't be written: {error.strerror}."
            raise StateError(message, "Make room, or see what ails the disk, and try again.") from error

    def _rows(self, after: int, upto: int) -> Iterator[sqlite3.Row]:
        sql = f"SELECT {_COLUMNS} FROM audit WHERE n > ? AND n <= ? ORDER BY n LIMIT {_BATCH}"
        while rows := self._ask(sql, after, upto):
            yield from rows
            after = rows[-1]["n"]

    def _chained(self, ever: int, kept: dict[int, bytes]) -> Iterator[str]:
        """Checks the rows, and fills ``kept`` with the hash of each one's line."""
        before, chain = 0, ""
        for row in self._rows(0, ever):
            if row["n"] != before + 1:
                yield f"The audit has lost {_span('row', before + 1, row['n'] - 1)}."
            elif row["chain"] != self._chain(chain, tuple(row)[:-1]):
                yield f"Row {row['n']} of the audit is not as it was written."
            before, chain = row["n"], row["chain"]
            kept[before] = _hash(_line(row))
        if before < ever:
            yield f"The audit has lost {_span('row', before + 1, ever)}."

    def _written(self, size: int, kept: dict[int, bytes]) -> Iterator[str]:
        """Checks the file's first ``size`` bytes against the rows."""
        if kept and not size:
            yield f"{self.file} is gone; it is made anew from the table with the next entry."
            return
        at, wrong = 0, [0, 0]
        for place, line in enumerate(_lines(self.file, size), 1):
            n = _number(line)
            if kept.get(n) == _hash(line) and n > at:
                if n != at + 1:
                    yield f"{self.file} lacks {_span('row', at + 1, n - 1)} of the audit."
                at = n
            elif wrong[1] and wrong[1] == place - 1:
                wrong[1] = place
            else:
                if wrong[1]:
                    yield self._foreign(*wrong)
                wrong = [place, place]
        if wrong[1]:
            yield self._foreign(*wrong)
        if kept and at < max(kept):
            yield f"{self.file} lacks {_span('row', at + 1, max(kept))} of the audit."

    def _foreign(self, first: int, last: int) -> str:
        return f"{self.file} has in {_span('line', first, last)} what the audit does not have there."


def _act(row: sqlite3.Row) -> Act:
    fields = {name: row[name] for name in Act.__dataclass_fields__}
    return Act(**{**fields, "ok": None if row["ok"] is None else bool(row["ok"])})


def _line(row: sqlite3.Row) -> bytes:
    return json.dumps(dict(row), separators=(",", ":")).encode() + b"\n"


def _hash(line: bytes) -> bytes:
    return hashlib.sha256(line).digest()


def _number(line: bytes) -> int:
    try:
        told = json.loads(line)
    except ValueError:
        return 0
    n = told.get("n") if isinstance(told, dict) else 0
    return n if isinstance(n, int) else 0


def _lines(file: Path, size: int) -> Iterator[bytes]:
    if not size:
        return
    with file.open("rb") as held:
        while size > 0 and (line := held.readline(size)):
            size -= len(line)
            yield line


def _span(what: str, first: int, last: int) -> str:
    return f"{what} {first}" if first == last else f"{what}s {first} to {last}"


def _write(log: int, data: bytes) -> None:
    if data:
        while data:
            data = data[os.write(log, data) :]
        os.fsync(log)


def _settle(folder: Path) -> None:
    held = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
