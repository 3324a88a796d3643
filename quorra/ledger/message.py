"""Commit messages and identities: what ``git log`` says of who changed what and why."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote, unquote

from quorra.ledger.change import Entry, Origin
from quorra.ledger.plumbing.process import Git

ASSISTANT = ("Quorra", "quorra@localhost")
FORMAT = "%H%x00%aI%x00%an%x00%s%x00%(trailers:only=true,unfold=true)"


def flat(text: str) -> str:
    """Makes a text one line without control characters, so that it can open no line of its own."""
    kept = "".join(" " if unicodedata.category(sign) in ("Cc", "Zl", "Zp") else sign for sign in text)
    return " ".join(kept.split()).encode("utf-8", "replace").decode()


def compose(subject: str, origin: Origin, folders: Sequence[str] = ()) -> str:
    """Writes a message: the subject and, in the last paragraph, where the change came from.

    ``folders`` are those that were made or removed, with their sign.
    """
    values = {
        "Principal": origin.principal,
        "Surface": origin.surface,
        "Reason": origin.reason,
        "Session": origin.session,
        "Tool": origin.tool,
        "Proposal": origin.proposal,
        "Folders": " ".join(quote(os.fsencode(folder), safe="/+") for folder in folders) or None,
    }
    trailers = [f"Quorra-{key}: {flat(value) or 'none'}" for key, value in values.items() if value is not None]
    return "\n".join([flat(subject) or "Change", "", *trailers, ""])


def folders(trailer: str) -> tuple[list[str], list[str]]:
    """Reads the folders that a commit made, and those that it removed."""
    words = [(word[:1], unquote(word[1:], errors="surrogateescape")) for word in trailer.split()]
    return [name for sign, name in words if sign == "+"], [name for sign, name in words if sign == "-"]


def identity(who: tuple[str, str]) -> str:
    """Writes a name and an address as commits hold them."""
    name, email = ("".join(sign for sign in flat(part) if sign not in "<>").strip() for part in who)
    return f"{name or 'unknown'} <{email or 'unknown@localhost'}>"


def stamp(when: datetime) -> str:
    """Writes a moment as commits hold it: seconds and the offset from UTC."""
    return f"{int(when.timestamp())} {when.strftime('%z')[:5] or '+0000'}"


def commit(tree: str, parents: Iterable[str | None], author: str, when: str, message: str) -> bytes:
    """Writes a commit object; Quorra is always its committer, never signed."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents if parent)]
    lines += [f"author {author} {when}", f"committer {identity(ASSISTANT)} {when}", "", message]
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def log(git: Git, start: str, path: str | None, limit: int, follow: bool) -> list[Entry]:
    """Reads the history from ``start`` back, of one file where ``path`` is given, through its renames if asked."""
    words = ["log", "-z", f"--max-count={limit}", f"--format={FORMAT}", start]
    if path and follow:
        words[1:1] = ["--follow"]
    raw = git.run(*words, "--", *([path] if path else []))
    fields = raw.decode("utf-8", "replace").split("\0")
    return [_entry(*fields[at : at + 5]) for at in range(0, len(fields) - 4, 5)]


def touching(git: Git, start: str, path: str | None, limit: int) -> list[tuple[Entry, set[str]]]:
    """Reads the history as ``log`` does, each commit with every path it touched, of whichever file was asked."""
    mark = os.urandom(16).hex()
    words = ("--diff-merges=separate", "--root", "--no-renames", "--full-diff", "--name-only")
    within = ["--", *([path] if path else [])]
    raw = git.run("log", "-z", f"--max-count={limit}", f"--format={mark}%x00{FORMAT}%x00", *words, start, *within)
    found: dict[str, tuple[Entry, set[str]]] = {}
    for record in raw.split(mark.encode() + b"\0")[1:]:
        parts = record.split(b"\0")
        entry = _entry(*(part.decode("utf-8", "replace") for part in parts[:5]))
        # A merge comes once for each of its parents.
        touched = found.setdefault(entry.commit, (entry, set()))[1]
        touched.update(os.fsdecode(name.removeprefix(b"\n")) for name in parts[6:-1])
    return list(found.values())


def _entry(commit: str, when: str, author: str, subject: str, trailers: str) -> Entry:
    found: dict[str, str] = {}
    for line in trailers.split("\n"):
        key, colon, value = line.partition(": ")
        if colon:
            found.setdefault(key, value)
    return Entry(commit.strip(), when, author, subject, found)
