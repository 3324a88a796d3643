"""Commit messages and identities: what ``git log`` says of who changed what and why."""

import os
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import datetime
from urllib.parse import quote, unquote

from quorra.ledger.change import Origin

ASSISTANT = ("Quorra", "quorra@localhost")


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
