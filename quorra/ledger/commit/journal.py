"""What one turn does, as values, and the record of it from which a later process finishes or undoes it."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quorra.ledger.plumbing.disk import Blocked, settle
from quorra.ledger.plumbing.entries import Entries, Sealed
from quorra.ledger.plumbing.objects import Row


@dataclass(frozen=True, slots=True)
class Draft:
    """One commit to be made: its author line without the time, its message, the rows it changes.

    ``joins`` is the other commit that a merge follows.
    """

    author: str
    message: str
    rows: dict[str, Row | None]
    joins: str = ""


@dataclass(frozen=True, slots=True)
class Touch:
    """One file to be changed on disk: blob ids of its bytes before and after, None for absent.

    A file that only moves is renamed from ``source`` and needs no temporary.
    """

    path: str
    old: str | None
    new: str | None
    temp: str
    source: str = ""


@dataclass(slots=True)
class Work:
    """What one turn will do: commits to make, files to change, index rows to set.

    ``onto`` is a commit that the branch moves on to instead of new ones.
    """

    branch: str
    head: str | None
    when: str
    index: Entries | Sealed
    drafts: list[Draft] = field(default_factory=list)
    touches: list[Touch] = field(default_factory=list)
    contents: dict[str, bytes] = field(default_factory=dict)
    like: dict[str, os.stat_result] = field(default_factory=dict)
    rows: dict[str, tuple[Row | None, Row | None]] = field(default_factory=dict)
    onto: str = ""

    @property
    def young(self) -> int:
        """Counts the rows of files that were written just now, not moved or removed."""
        return sum(new is not None for _, new in self.rows.values()) - sum(bool(touch.source) for touch in self.touches)


@dataclass(frozen=True, slots=True)
class Journal:
    """Everything that finishing or undoing needs; ``rows`` holds the index rows before and after.

    Without drafts, ``commit`` was there already and the branch only moves on to it.
    """

    branch: str
    head: str | None
    commit: str
    when: str
    drafts: list[Draft]
    touches: list[Touch]
    rows: dict[str, tuple[Row | None, Row | None]]
    made: list[str]

    def save(self, file: Path, places: Iterable[Path]) -> None:
        """Writes the journal by rename once it, and all that was written in ``places``, is on the medium."""
        temp = file.with_name(file.name + "-new")
        with open(temp, "w", encoding="ascii") as out:
            out.write(json.dumps(self._plain()))
        apart = settle((file.parent, *places)) > 1
        os.replace(temp, file)
        if apart:
            # What follows on another file system could otherwise get there before the journal's name does.
            settle((file.parent,))

    def _plain(self) -> dict[str, Any]:
        drafts = [(draft.author, draft.message, draft.rows, draft.joins) for draft in self.drafts]
        touches = [(touch.path, touch.old, touch.new, touch.temp, touch.source) for touch in self.touches]
        fields = {name: getattr(self, name) for name in ("branch", "head", "commit", "when", "rows", "made")}
        return {**fields, "drafts": drafts, "touches": touches}


def load(file: Path) -> Journal | None:
    """Reads the journal, None where no commit was under way; raises Blocked where it is damaged."""
    try:
        return _parsed(json.loads(file.read_text(encoding="ascii")))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        message = f"The record of a commit that was cut short, {file}, is damaged."
        raise Blocked("journal", str(file), message) from error


def _parsed(raw: dict[str, Any]) -> Journal:
    drafts = [
        Draft(author, text, {path: _row(row) for path, row in rows.items()}, *joins)
        for author, text, rows, *joins in raw["drafts"]
    ]
    return Journal(
        branch=raw["branch"],
        head=raw["head"],
        commit=raw["commit"],
        when=raw["when"],
        drafts=drafts,
        touches=[Touch(*touch) for touch in raw["touches"]],
        rows={path: (_row(old), _row(new)) for path, (old, new) in raw["rows"].items()},
        made=raw["made"],
    )


def _row(raw: list[str] | None) -> Row | None:
    return Row(*raw) if raw else None
