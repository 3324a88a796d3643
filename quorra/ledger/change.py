"""What goes into the ledger and what comes back: plain values."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quorra.ledger.plumbing.disk import Blocked

NEXT: Mapping[str, str] = {
    "busy": "Nothing is lost; try again in a moment.",
    "detached": "Switch to a branch with git switch, then try again.",
    "disk": "Make room or set the rights, then try again.",
    "elsewhere": "Switch one of the two to another branch, then try again.",
    "empty": "Write a note first.",
    "filter": "Take the filter off that path in .gitattributes, or keep such files outside the vault.",
    "git": "Mend what git names, then try again.",
    "hidden": "Give it a name that does not begin with a dot.",
    "journal": "Look at git status; when all your texts are there, remove that file.",
    "merging": "Finish or abort it with git, then try again.",
    "nested": "Choose that repository itself, or a folder outside it.",
    "network": "Choose a folder on a local disk.",
    "no_remote": "Add one with: git remote add origin URL",
    "path": "Choose another path.",
    "remote_ahead": "Pull them first: quorra remote pull",
    "remote_away": "Try again when it is there.",
    "remote_denied": "Give git a key or a credential helper, so that it need not ask.",
    "remote_shallow": "Complete it there with: git fetch --unshallow",
    "rewritten": "Compare the two with git log, then merge or rebase with git.",
    "shallow": "Fetch the rest with: git fetch --unshallow",
    "sparse": "Undo that with: git sparse-checkout disable",
    "staged": "Commit or unstage it with git, then try again.",
    "submodules": "Choose a repository without submodules.",
    "symlink": "Write to the file that the link leads to, or put a file in the link's place.",
    "unrelated": "If they do belong together: git pull --allow-unrelated-histories",
    "unmerged": "Resolve the conflict and commit, then try again.",
}


@dataclass(frozen=True, slots=True)
class Hand:
    """Whose a hand edit is; ``author`` is a name and an address, ``file`` the edited file as people call it.

    ``blob`` is the text that they made, None where they removed it, empty where it may be any.
    """

    principal: str
    author: tuple[str, str]
    file: str
    blob: str | None = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wants a change and why; becomes the commit's author and trailers.

    ``hands`` tells by path whose the edits are that are found in its files; the owner's where it doesn't.
    """

    principal: str
    surface: str
    reason: str
    session: str | None = None
    tool: str | None = None
    proposal: str | None = None
    hands: Mapping[str, Hand] = field(default_factory=dict)

    def because(self, reason: str) -> "Origin":
        """Gives the origin with a reason, unless it has one already."""
        return replace(self, reason=self.reason or reason)


@dataclass(frozen=True, slots=True)
class Edit:
    """One path's new content.

    ``path`` counts from the repository's root with ``/`` between parts.
    ``content`` None removes the file. ``expect`` is the blob id that the file
    on disk must still have, None where no file may be there yet.
    """

    path: str
    content: bytes | None
    expect: str | None


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Edits that stand or fall together, with the sentence that explains them.

    ``folders`` are made if missing, those in ``emptied`` removed if they are
    empty; as git knows no folders, the commit's message says so.
    """

    edits: tuple[Edit, ...]
    subject: str
    origin: Origin
    folders: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """The change is on disk, in git's index and on the branch."""

    commit: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was written; ``code`` is stable, ``reason`` is one sentence for a person."""

    code: str
    reason: str
    path: str | None = None
    advice: str = ""

    @classmethod
    def by(cls, error: "Blocked") -> "Refused":
        """Makes a refusal of what stands in the way."""
        return cls(error.code, error.message, error.path, error.next)

    @property
    def next(self) -> str:
        """Says what to do about it."""
        return self.advice or NEXT.get(self.code, "")


@dataclass(frozen=True, slots=True)
class Stale:
    """Nothing was written: ``path`` no longer is what the change expected."""

    path: str
    reason: str

    @property
    def next(self) -> str:
        """Says what to do about it."""
        return "Read it again and make the change anew."


Outcome = Applied | Refused | Stale


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is on disk, as a value: the head commit and every file that differs from it.

    ``dirty`` maps a path under the watched roots to the blob id of its text on
    disk (computed, not stored in git), or to None where the file is gone.
    ``head`` is None before the first commit.
    """

    head: str | None
    dirty: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit of the history; ``when`` is ISO 8601 with its offset."""

    commit: str
    when: str
    author: str
    subject: str
    trailers: Mapping[str, str] = field(default_factory=dict)
