"""The texts of a commit, as far as somebody may see them today."""

import re
from collections.abc import Iterable, Mapping
from typing import Protocol

from quorra.ledger.change import Snapshot
from quorra.ledger.history import UnknownRevision
from quorra.vault.texts import Place, Texts

_MARKS = re.compile(rb"^[\s>*+-]+(?:\[.\]\s*)?")
_SEARCHES = re.compile(r"^:/|\^\{/")
_TELLS_NOTHING = re.compile(rb"#{1,6}\s|(?:created|updated|date|tags|type|status)\s*:|[\W_]*$")


class View(Protocol):
    """What a reader may see: notes by name, or the ``whole`` home with all its past."""

    @property
    def whole(self) -> bool:
        """Tells whether nothing is kept from the reader."""

    def sees(self, path: str) -> bool:
        """Tells whether a note of this name may be seen."""


class Then(Texts):
    """A home's files as a commit has them, without those that are ``hidden``; nothing on disk differs from them."""

    def __init__(self, texts: Texts, commit: str, hidden: frozenset[str] = frozenset()) -> None:
        super().__init__(texts.ledger, texts.settings)
        self.commit = commit
        self.hidden = hidden

    def standing(self) -> Snapshot:
        """Gives the commit, with nothing that differs."""
        return Snapshot(self.commit)

    def tree(self, commit: str) -> Mapping[str, str]:
        """Maps every path of a commit that is not hidden to its blob id."""
        return {path: blob for path, blob in super().tree(commit).items() if path not in self.hidden}


def at(texts: Texts, revision: str, view: View) -> Then:
    """Gives the texts of a revision; raises UnknownRevision.

    Who sees the whole home sees all of them. Anybody else sees only what led to the present, for a proposal or
    another branch never lay before them; and of a file that lay in their view then only what has not left it since:
    its very text still lies in the view, or every line that tells something does, or it stayed at its path all the
    time and no line that it lost is found outside the view now.
    """
    if not view.whole and _SEARCHES.search(revision):
        # It would tell which words stand in messages of commits that nobody shows them.
        raise UnknownRevision(revision)
    commit = texts.ledger.resolve(revision)
    then = Then(texts, commit)
    if view.whole:
        return then
    if texts.behind(texts.ledger.head(), commit):
        raise UnknownRevision(revision)
    return Then(texts, commit, frozenset(_left(texts, then, view)))


def _left(texts: Texts, then: Then, view: View) -> set[str]:
    """Gives the files of a commit that lay in a view then, and whose text has left it since."""
    old, now = then.places(), texts.places()
    still = {place.blob for name, place in now.items() if view.sees(name)}
    doubtful = {name: place for name, place in old.items() if view.sees(name) and place.blob not in still}
    if not doubtful:
        return set()
    head = texts.ledger.head()
    removed = texts.ledger.removed(then.commit, head) if head else set()
    changed = {name: place for name, place in now.items() if name not in old or old[name].blob != place.blob}
    inside = _lines(texts, (place for name, place in changed.items() if view.sees(name)))
    outside = _lines(texts, (place for name, place in changed.items() if not view.sees(name)))
    found = set()
    for name, place in doubtful.items():
        lost = _lines(then, [place]) - inside
        if lost & outside if name in now and place.path not in removed else lost:
            found.add(place.path)
    return found


def _lines(texts: Texts, places: Iterable[Place]) -> set[bytes]:
    """Gives the lines of some files that tell something, without the marks of lists and quotations."""
    lines = (_MARKS.sub(b"", line).strip() for place in places for line in texts.read(place).splitlines())
    return {line for line in lines if not _TELLS_NOTHING.match(line)}
