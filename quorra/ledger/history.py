"""What was committed, read from git: who changed what and why, and the texts of then."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from quorra.errors import QuorraError
from quorra.ledger import message
from quorra.ledger.change import Entry
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.snapshot import visible

FORMAT = "%H%x00%aI%x00%an%x00%s%x00%(trailers:only=true,unfold=true)"


class UnknownRevision(QuorraError):
    """No commit has this name."""

    code = "revision"

    def __init__(self, rev: str) -> None:
        super().__init__(f"No commit is called {rev!r} here.", "See the commits with: quorra log")


class History:
    """The commits and objects of one repository; nothing is written.

    ``roots`` are the repository paths that are looked at, "" for all of it.
    """

    def __init__(self, repo: Repository, roots: Sequence[str]) -> None:
        self._repo = repo
        self.roots = tuple(roots)

    def head(self) -> str | None:
        """Gives the commit at the top, None before the first."""
        return self._repo.head()

    def resolve(self, rev: str) -> str:
        """Gives the commit that a revision names; raises UnknownRevision."""
        name = rev if rev.startswith(":/") else f"{rev}^{{commit}}"  # git looks for all that follows ":/" in messages
        found = None if not rev or set("\n\0") & set(rev) else self._repo.reader.info([name])[0]
        if found is None:
            raise UnknownRevision(rev)
        return found[0]

    def parents(self, commit: str) -> list[str]:
        """Gives the commits that a commit follows."""
        return self._repo.git.run("rev-list", "--parents", "--max-count=1", commit).decode().split()[1:]

    def subject(self, commit: str) -> str:
        """Gives the first line of a commit's message."""
        return self._repo.git.run("log", "--max-count=1", "--format=%s", commit).decode("utf-8", "replace").strip()

    def folders(self, commit: str) -> tuple[list[str], list[str]]:
        """Gives the watched folders that a commit says it made, and those that it removed."""
        form = "--format=%(trailers:key=Quorra-Folders,valueonly,unfold)"
        told = message.folders(self._repo.git.run("log", "--max-count=1", form, commit).decode("utf-8", "replace"))
        made, gone = ([name for name in names if visible(name, self.roots)] for names in told)
        return made, gone

    def touched(self, commit: str) -> list[str]:
        """Gives the paths that a commit changed."""
        raw = self._repo.git.run("diff-tree", "--root", "-r", "-z", "-m", "--no-commit-id", "--name-only", commit)
        return sorted({os.fsdecode(path) for path in raw.split(b"\0")[:-1]})

    def staged(self) -> set[str]:
        """Gives the paths of which git's index holds something else than the commit at the top."""
        head = self.head()
        words = ("diff-index", "--cached", "--name-only", "--no-renames", "-z")
        raw = self._repo.git.run(*words, head, "--") if head else b""
        return {os.fsdecode(path) for path in raw.split(b"\0")[:-1]}

    def log(self, path: str | None = None, limit: int = 50, *, follow: bool = True) -> list[Entry]:
        """Gives the history, newest first; of one file, through its renames where ``follow`` is set."""
        head = self.head()
        if head is None:
            return []
        words = ["--follow"] if path and follow else []
        raw = self._log(limit, FORMAT, *words, head, "--", *([path] if path else []))
        fields = raw.decode("utf-8", "replace").split("\0")
        return [_entry(*fields[at : at + 5]) for at in range(0, len(fields) - 4, 5)]

    def touching(self, path: str | None, limit: int) -> list[tuple[Entry, set[str]]]:
        """Gives the history, newest first, each commit with all the paths that it touched; no rename is followed."""
        head = self.head()
        if head is None:
            return []
        mark = os.urandom(16).hex()
        words = ("--diff-merges=separate", "--root", "--no-renames", "--full-diff", "--name-only")
        raw = self._log(limit, f"{mark}%x00{FORMAT}%x00", *words, head, "--", *([path] if path else []))
        found: dict[str, tuple[Entry, set[str]]] = {}
        for record in raw.split(mark.encode() + b"\0")[1:]:
            parts = record.split(b"\0")
            entry = _entry(*(part.decode("utf-8", "replace") for part in parts[:5]))
            # A merge comes once for each of its parents.
            touched = found.setdefault(entry.commit, (entry, set()))[1]
            touched.update(os.fsdecode(name.removeprefix(b"\n")) for name in parts[6:-1])
        return list(found.values())

    def _log(self, limit: int, form: str, *words: str) -> bytes:
        return self._repo.git.run("log", "-z", f"--max-count={limit}", f"--format={form}", *words)

    def removed(self, old: str, new: str) -> set[str]:
        """Gives the paths that any commit from ``old`` to ``new`` took away, be they there again or not."""
        asked = ("--format=", "--name-only", "-z", "-m", "--no-renames", "--diff-filter=D")
        raw = self._repo.git.run("log", *asked, f"{old}..{new}")
        return {os.fsdecode(path) for path in raw.split(b"\0") if path}

    def behind(self, old: str | None, new: str | None) -> int:
        """Counts the commits that lead from ``old``, where that is known still, to ``new``."""
        if new is None or old == new:
            return 0
        known = old is not None and self._repo.reader.info([f"{old}^{{commit}}"])[0] is not None
        return int(self._repo.git.run("rev-list", "--count", f"{old}..{new}" if known else new))

    def difference(self, commit: str) -> str:
        """Gives what a commit changed, as git shows it."""
        raw = self._repo.git.run("diff", "--no-color", "--find-renames", f"{commit}^", commit)
        return raw.decode("utf-8", "replace")

    def tree(self, rev: str) -> Mapping[str, str]:
        """Gives the blob id of every visible regular file at a revision."""
        limits = [] if "" in self.roots else ["--", *(root + "/" for root in self.roots)]
        raw = self._repo.git.run("ls-tree", "-r", "-z", "--full-tree", self.resolve(rev), *limits)
        found: dict[str, str] = {}
        for record in raw.split(b"\0")[:-1]:
            head, _, name = record.partition(b"\t")
            mode, _, ident = head.split(b" ")
            path = os.fsdecode(name)
            if mode.startswith(b"100") and visible(path, self.roots):
                found[path] = ident.decode()
        return found

    def paths(self, commit: str, word: str) -> list[str]:
        """Gives the visible paths of a commit that hold a word, sooner than ``tree`` does where there are few."""
        raw = self._repo.git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        listed = os.fsdecode(raw).split("\0") if word.encode() in raw else ()
        return [path for path in listed if word in path and visible(path, self.roots)]

    def changes(self, old: str, new: str) -> Mapping[str, str | None]:
        """Gives the watched paths that differ between two commits: the new blob id, None where gone."""
        before, after = (self._repo.tree_of(self.resolve(rev)) for rev in (old, new))
        assert before is not None
        assert after is not None
        found: dict[str, str | None] = {}
        for mode, ident, name in self._repo.differ.changes(before, after):
            path = os.fsdecode(name)
            if visible(path, self.roots):
                found[path] = ident if mode.startswith("100") else None
        return found

    def at(self, commit: str, path: str) -> bytes | None:
        """Gives a file's bytes at a commit, None where it has no regular file there."""
        row = self._repo.objects.row(self._repo.tree_of(commit), path)
        return self.blob(row.id) if row and row.regular else None

    def blob(self, id: str) -> bytes:
        """Gives a blob's bytes."""
        ((_, content),) = self._repo.reader.contents([id])
        return content

    def blobs(self, ids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Gives many blobs' bytes in order, through one pipe."""
        return self._repo.reader.contents(ids)

    def id_of(self, content: bytes) -> str:
        """Gives the blob id of some bytes; stores nothing."""
        return self._repo.objects.id_of(content)


def _entry(commit: str, when: str, author: str, subject: str, trailers: str) -> Entry:
    found: dict[str, str] = {}
    for line in trailers.split("\n"):
        key, colon, value = line.partition(": ")
        if colon:
            found.setdefault(key, value)
    return Entry(commit.strip(), when, author, subject, found)
