"""What editors and sync clients leave beside notes: files in passing, and conflicted copies."""

import posixpath
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

# By the last part of a path: locks of offices, Emacs and vim, backups, downloads and saves that are under way.
_PASSING = re.compile(
    r"""
      ~\$ .* | \# .* \# | \. .* | .* ~ | 4913 | ~syncthing~ .*
    | .* \. (?: part | partial | filepart | crdownload | sw[a-z] | !sync | vsctmp )
    | .* \. tmp [-.\d]*
    | .* ___jb_(?: tmp | old )___
    | .* \. sb-[0-9a-f]{8}-\w{6}
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_DAY = r"\d{4}-\d\d-\d\d"
_ENDING = r"(?P<ending>\.[^./]+)?"
_COPIES = {
    kind: re.compile(rf"(?P<stem>.*[^/]){mark}{_ENDING}", re.DOTALL)
    for kind, mark in {
        "Dropbox": rf" \([^()/]+ conflicted copy(?: {_DAY})?(?: \(\d+\))?\)",
        "Nextcloud": rf" \(conflicted copy(?:(?: [^()/]+)? {_DAY}(?: \d{{4,6}})?)?(?: \(\d+\))?\)",
        "ownCloud": r"_conflict-\d{8}-\d{6}",
        "Syncthing": r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z2-7]{7})?",
    }.items()
}
WORD = "conflict"  # in the name of every copy


@dataclass(frozen=True, slots=True)
class Copy:
    """A conflicted copy by its name: the file that it is a version of, and whose habit it is to name it so."""

    of: str
    kind: str


def passing(path: str) -> bool:
    """Tells whether a file of this name is only there in passing, and so never a note whatever its ending."""
    return _PASSING.fullmatch(path.rpartition("/")[2]) is not None


def copy(path: str) -> Copy | None:
    """Reads the name of a conflicted copy, None for any other."""
    if WORD not in path:
        return None
    for kind, pattern in _COPIES.items():
        found = pattern.fullmatch(path)
        if found:
            return Copy(found["stem"] + (found["ending"] or ""), kind)
    return None


def original(path: str, there: Callable[[str], bool]) -> Copy | None:
    """Gives the file that a path is a conflicted copy of; None where the name tells of none, or none is there.

    A copy of a copy belongs to the nearest of them that is there.
    """
    found = copy(path)
    while found is not None and not there(found.of):
        found = copy(found.of)
    return found


def renamed(path: str, of: str, to: str) -> str:
    """Gives the name of a copy of the file ``of`` once that is called ``to``: the same mark in the new name."""
    stem, ending = posixpath.splitext(of)
    if not path.endswith(ending):
        stem, ending = of, ""
    mark = path[len(stem) : len(path) - len(ending)]
    fresh, last = posixpath.splitext(to) if ending else (to, "")
    return f"{fresh}{mark}{last}"


def copies(paths: Iterable[str], there: Callable[[str], bool]) -> dict[str, Copy]:
    """Finds the conflicted copies among some files; ``there`` tells whether a file is."""
    found = ((path, original(path, there)) for path in paths)
    return {path: each for path, each in found if each is not None}
