"""Makes a folder a home: what it begins with, and what stands in the way."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quorra import settings
from quorra.errors import QuorraError
from quorra.ledger import create as ledgers
from quorra.ledger.change import Applied, Origin
from quorra.settings import FACTS, FILE, OWN, Settings, SettingsError

_TOLD = """\
# This home's settings. Every key has a default; the settings page of Quorra's own handbook lists them.
[vault]
path = {path}

# The owner, as commits name them.
[owner]
name = {name}
email = {email}

# Whose a hand edit is, by the local user that the file belongs to: "owner", or a member by their folder's name.
# Without this it is the member's whose folder the file lies in, else of one unknown.
# [authors.{uid}]
# principal = "owner"
"""
_FACTS = "# Household\n\n<!-- One fact a line, as you would say it. -->\n"
_EVALS = "# Suites\n\nOne folder a suite, with its questions in cases.jsonl. Run one with: quorra evals run NAME\n"
_JOBS = "# Jobs\n\nDefinitions of what Quorra does by herself. None yet.\n"


class Unfit(QuorraError):
    """The folder can't be made a home."""

    code = "unfit"


@dataclass(frozen=True, slots=True)
class Made:
    """A new home, its first commit, and what its owner should know."""

    home: Path
    commit: str
    notices: tuple[str, ...] = ()


def create(folder: Path, shipped: Path, origin: Origin, *, vault: str = "vault", empty: bool = False) -> Made:
    """Makes a home of a folder without changing a note in it; raises Unfit with what stands in the way.

    ``shipped`` is the folder that holds the starter vault, facts and prompts.
    """
    if (folder / FILE).exists():
        raise Unfit(f"{folder} is a home already.", f"Ask it something: quorra ask --home {folder} 'your question'")
    wanted = _wanted(folder, vault)
    roots = (wanted.vault_root, FACTS)
    notes = folder / wanted.vault_root
    if notes.exists() and not notes.is_dir():
        raise Unfit(f"{notes} is a file; the notes need a folder.", "Name another with --vault.")
    settled = folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())
    notices = tuple(_notices(folder, notes, roots))
    owner = ledgers.identity(folder) or (wanted.owner.name, wanted.owner.email)
    starts = not empty and not settled and not (folder / ".git").exists()
    uid = folder.stat().st_uid if folder.is_dir() else os.geteuid()
    content = files(shipped, wanted, owner, uid, notes=starts)
    done = ledgers.init(folder, content, owner, roots, origin)
    if isinstance(done, Applied):
        notes.mkdir(parents=True, exist_ok=True)
        return Made(folder.resolve(), done.commit, notices)
    raise Unfit(f"{done.reason.rstrip('.')}. Nothing of yours was changed.", done.next)


def files(shipped: Path, wanted: Settings, owner: tuple[str, str], uid: int, *, notes: bool) -> dict[str, bytes]:
    """Gives path and content of each file; ``uid`` is the owner's own, ``notes`` adds the starter vault and facts."""
    root = wanted.vault_root
    found = {
        FILE: _TOLD.format(
            path=json.dumps(wanted.vault.path), name=json.dumps(owner[0]), email=json.dumps(owner[1]), uid=uid
        ).encode(),
        f"{FACTS}/household.md": _FACTS.encode(),
        "evals/README.md": _EVALS.encode(),
        "jobs/README.md": _JOBS.encode(),
        **{f"prompts/{path}": content for path, content in _below(shipped / "prompts")},
    }
    if notes:
        found |= {f"{root}/{path}" if root else path: content for path, content in _below(shipped / "vault")}
        found |= {f"{FACTS}/{path}": content for path, content in _below(shipped / FACTS)}
        suite = shipped / "evals" / "handbook"
        found |= {f"evals/handbook/{file.name}": file.read_bytes() for file in sorted(suite.iterdir())}
    return found


def private(folder: Path) -> Path:
    """Makes a home's own folder, which says itself that it is not git's, as a clone has no exclude file of ours."""
    told = folder / ".gitignore"
    if not told.exists():
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
            told.write_text("*\n", encoding="utf-8")
    return folder


def _wanted(folder: Path, vault: str) -> Settings:
    try:
        return settings.parse(folder, {"vault": {"path": vault}}, folder / FILE)
    except SettingsError as error:
        wrong = error.message.rpartition("vault.path: ")[2]
        raise Unfit(f"{vault} can't hold the notes: {wrong}", "Name another folder with --vault.") from error


def _notices(folder: Path, notes: Path, roots: tuple[str, ...]) -> Iterator[str]:
    """Says what an owner should know before the folder is a home."""
    for line in ledgers.endings(folder, roots):
        yield f"Line endings would be converted here; .gitattributes needs the line: {line}"
    if not _notes(notes) and _notes(folder):
        yield (
            f"Notes are looked for in {notes} alone, and there are none; this folder holds Markdown elsewhere. "
            f'To have it read, set path = "." under [vault] in {folder / FILE}.'
        )
    if notes == folder:
        for name in sorted(OWN):
            if not name.startswith(".") and _notes(folder / name):
                how = "read as facts" if name == FACTS else "not read as notes"
                yield f"The folder {name} is Quorra's own here; the notes in it are {how}."
    links = sum(1 for path in notes.rglob("*") if path.is_symlink() and ".git" not in path.parts)
    if links:
        yield f"Symbolic links are not followed; what they lead to is not read ({links} here)."


def _notes(folder: Path) -> bool:
    """Tells whether a folder holds Markdown that is nobody's hidden own."""
    found = (file.relative_to(folder).parts for file in folder.rglob("*.md"))
    return any(not any(part.startswith(".") for part in parts) for parts in found)


def _below(folder: Path) -> Iterator[tuple[str, bytes]]:
    for file in sorted(folder.rglob("*.md")):
        yield file.relative_to(folder).as_posix(), file.read_bytes()
