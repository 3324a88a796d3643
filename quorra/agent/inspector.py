"""The turn inspector: what was really sent to a model in the last turns, in memory alone and bounded in bytes."""

import json
import os
import secrets
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import RLock
from typing import Any

from quorra.index.found import Hit

LONGEST = 8_000
"""Characters that are kept of any one text: a message, a tool's result, a passage, a reply."""
REASONING = 32_000
"""Characters that are kept of a turn's reasoning."""
EACH = 600_000
"""Bytes that one record may hold."""
ALL = 12_000_000
"""Bytes that all records may hold together."""
_BESIDES = 128
"""Bytes that keeping any one thing costs beside its own."""
_KINDS = {"call": "calls", "tool": "tools", "passage": "passages", "fact": "facts", "reply": "reply"}


@dataclass(slots=True, eq=False)
class Record:
    """One turn as far as it has come; what is added is copied at once, as JSON.

    ``state`` is ``running`` until the turn has ended, then its outcome.
    """

    owner: str
    session: str
    run: str
    started: str
    inspector: "Inspector"
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = "running"
    truncated: bool = False
    size: int = 0
    _parts: list[tuple[str, bytes]] = field(default_factory=list)
    _reasoned: str = ""

    def call(self, payload: Mapping[str, Any]) -> None:
        """Keeps a payload as it is about to leave."""
        self._add("call", payload)

    def tool(self, name: str, result: str) -> None:
        """Keeps what a tool answered."""
        self._add("tool", {"name": name, "result": result})

    def passages(self, hits: Iterable[Hit]) -> None:
        """Keeps the passages that were handed to the model."""
        for hit in hits:
            place = {"path": hit.path, "lines": list(hit.lines), "commit": hit.commit, "blob": hit.blob}
            self._add("passage", {**place, "text": hit.text})

    def facts(self, texts: Iterable[str]) -> None:
        """Keeps the facts that were handed to the model."""
        for text in texts:
            self._add("fact", text)

    def reasoning(self, text: str) -> None:
        """Keeps a piece of what the model reasoned; it is kept nowhere else."""
        with self.inspector.lock:
            kept = text[: REASONING - len(self._reasoned)]
            self.truncated |= len(kept) < len(text)
            self._reasoned += kept
            self._grow(len(kept.encode("utf-8", "replace")))

    def reply(self, text: str) -> None:
        """Keeps what was replied, so far."""
        self._add("reply", text)

    def end(self, state: str) -> None:
        """Says what the turn came to."""
        with self.inspector.lock:
            self.state = state

    def shown(self) -> dict[str, Any]:
        """Gives the record as values; they are the caller's own."""
        with self.inspector.lock:
            parts, told = tuple(self._parts), {"state": self.state, "truncated": self.truncated, "bytes": self.size}
            reasoning = self._reasoned
        known = {name: [json.loads(part) for kind, part in parts if kind == at] for at, name in _KINDS.items()}
        reply = known.pop("reply")
        return {
            "id": self.id,
            "session": self.session,
            "run": self.run,
            "started": self.started,
            **told,
            **known,
            "reasoning": reasoning,
            "reply": reply[-1] if reply else None,
        }

    def _add(self, kind: str, value: Any) -> None:
        """Copies a value; where the record is full, older payloads go first, as each new one repeats them."""
        with self.inspector.lock:
            part = self._copied(value)
            size = len(part) + _BESIDES
            while self.size + size > EACH and self._drop("call"):
                pass
            if self.size + size > EACH:
                self.truncated = True
                return
            self._parts.append((kind, part))
            self._grow(size)

    def _copied(self, value: Any) -> bytes:
        """Writes a value as JSON with its texts cut, shorter where it would fill the record by itself."""
        for most in (LONGEST, LONGEST // 10, LONGEST // 100):
            cut = _Cut(most)
            part = json.dumps(cut.value(value), ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
            self.truncated |= cut.done
            if len(part) <= EACH // 2:
                return part
        self.truncated = True
        return json.dumps(f"[left out: {len(part):,} bytes]").encode()

    def _drop(self, kind: str) -> bool:
        at = next((n for n, (known, _) in enumerate(self._parts) if known == kind), None)
        if at is None:
            return False
        self.truncated = True
        self.size -= len(self._parts.pop(at)[1]) + _BESIDES
        return True

    def _grow(self, size: int) -> None:
        self.size += size
        self.inspector.bound(self)


class Inspector:
    """The last turns of everybody in this process, each shown to its owner alone; never written to disk."""

    def __init__(self, records: int = 50, budget: int = ALL) -> None:
        self.lock = RLock()
        self._budget = budget
        self._records: deque[Record] = deque(maxlen=records)

    def begin(self, owner: str, session: str, run: str, now: datetime) -> Record:
        """Begins a turn's record, which can be seen from now on."""
        record = Record(owner, session, run, now.isoformat(), self)
        with self.lock:
            self._records.append(record)
        return record

    def of(self, owner: str) -> list[dict[str, Any]]:
        """Gives an owner's records, the newest first."""
        with self.lock:
            own = [record for record in reversed(self._records) if record.owner == owner]
        return [record.shown() for record in own]

    def get(self, owner: str, ident: str) -> dict[str, Any] | None:
        """Gives a record; None for another's, as for one that is not there."""
        with self.lock:
            found = [record for record in self._records if record.id == ident and record.owner == owner]
        return found[0].shown() if found else None

    def clear(self, owner: str, session: str | None = None) -> None:
        """Forgets an owner's records, those of one session where it is named."""
        with self.lock:
            gone = [one for one in self._records if one.owner == owner and session in (None, one.session)]
            for record in gone:
                self._records.remove(record)

    @property
    def size(self) -> int:
        """The bytes that all records hold."""
        with self.lock:
            return sum(record.size for record in self._records)

    def bound(self, growing: Record) -> None:
        """Lets the oldest records go where all together are too large."""
        while self.size > self._budget and len(self._records) > 1:
            oldest = next(record for record in self._records if record is not growing)
            self._records.remove(oldest)


class _Cut:
    """Copies values with every text cut to a length; ``done`` tells that one was."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.done = False

    def value(self, given: Any) -> Any:
        """Gives a copy."""
        if isinstance(given, str) and len(given) > self.most:
            self.done = True
            return f"{given[: self.most]} [cut: {len(given) - self.most:,} more characters]"
        if isinstance(given, Mapping):
            return {str(key): self.value(each) for key, each in given.items()}
        if isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
            return [self.value(each) for each in given]
        return given


def bug(record: Mapping[str, Any] | None, text: str, folder: Path, now: datetime) -> list[Path]:
    """Writes a report of a bug, with a record only where one is given; only the home's own user may read it."""
    stem = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    written = {f"{stem}.md": f"# Bug {stem}\n\n{now.isoformat(timespec='seconds')}\n\n{text.strip()}\n"}
    if record is not None:
        written[f"{stem}-payload.json"] = json.dumps(record, ensure_ascii=False, indent=2)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in written.items():
        with open(folder / name, "xb", opener=_private) as file:
            file.write(content.encode("utf-8", "backslashreplace"))
    return [folder / name for name in written]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
