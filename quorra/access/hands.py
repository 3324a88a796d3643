"""Whose a hand edit is: by the file's owner on this machine, else by the folder it lies in, else unknown."""

from collections.abc import Iterable
from pathlib import Path

from quorra.access.window import MEMBER, OWNER, domain
from quorra.ledger.change import Hand
from quorra.settings import Settings
from quorra.vault.links import fold

UNKNOWN = "unknown"


def whose(settings: Settings, paths: Iterable[str]) -> dict[str, Hand]:
    """Tells for each file, as it is now, whose an edit of it is; what is gone has no owner left."""
    return {path: _one(settings, path, _uid(settings.home / path)) for path in paths}


def _one(settings: Settings, path: str, uid: int | None) -> Hand:
    """Tells whose an edit of a file is that belongs to the user ``uid``, None where nobody knows.

    What nobody knows is the owner's where nobody else is told of in the settings.
    """
    file = settings.public(path) or path
    told = None if uid is None else settings.authors.get(uid)
    if told is not None:
        return _hand(settings, _principal(told.principal), file, told.name, told.email)
    place = domain(file)
    if not place.startswith(MEMBER):
        only = next(iter(settings.authors.values())) if len(settings.authors) == 1 else None
        if uid is None and only and only.principal == OWNER:
            return _hand(settings, OWNER, file, only.name, only.email)
        return Hand(UNKNOWN, (UNKNOWN, f"{UNKNOWN}@localhost"), file)
    known = next((each for each in settings.authors.values() if _principal(each.principal) == place), None)
    return _hand(settings, place, file, *((known.name, known.email) if known else ("", "")))


def _hand(settings: Settings, principal: str, file: str, name: str, email: str) -> Hand:
    slug = principal.removeprefix(MEMBER)
    default = (settings.owner.name, settings.owner.email) if principal == OWNER else (slug, f"{slug}@localhost")
    return Hand(principal, (name or default[0], email or default[1]), file)


def _principal(name: str) -> str:
    """Names a member as their domain is named."""
    return name if name == OWNER else MEMBER + fold(name.removeprefix(MEMBER))


def _uid(file: Path) -> int | None:
    try:
        return file.lstat().st_uid
    except OSError:
        return None
