"""What a change or an adoption would do to the branch, the disk and the index; nothing is written here but blobs."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from quorra.ledger.change import ChangeSet, Edit, Hand, Origin, Refused, Stale
from quorra.ledger.commit.journal import Draft, Touch, Work
from quorra.ledger.message import ASSISTANT, compose, identity, stamp
from quorra.ledger.plumbing.attributes import sentence
from quorra.ledger.plumbing.disk import Blocked, Seen
from quorra.ledger.plumbing.entries import Entries, Sealed
from quorra.ledger.plumbing.objects import FOLDER, Row
from quorra.ledger.plumbing.repository import Repository
from quorra.ledger.remotes.joint import Joint
from quorra.settings import PRIVATE

# Parts and bytes of a path: Python walks no tree much deeper, and the machine opens no path much longer.
DEEPEST, LONGEST = 200, 4000


@dataclass(frozen=True, slots=True)
class Standing:
    """One path as it stands: on disk (``raw`` is the id of its bytes), at HEAD, in the index."""

    path: str
    seen: Seen | None
    raw: str | None
    head: Row | None
    index: Row | None

    @property
    def staged(self) -> bool:
        """Tells whether the index holds something else than HEAD."""
        return self.index != self.head


class Planner:
    """Looks at the paths of one turn; made afresh with both locks held."""

    def __init__(self, repo: Repository, owner: tuple[str, str], when: datetime) -> None:
        self.repo = repo
        self.owner = owner
        self.head = repo.head()
        self.tree = repo.tree_of(self.head)
        self.index: Entries | Sealed = repo.index()
        self.work = Work(repo.settled(), self.head, stamp(when), self.index)
        self.modes: dict[str, str] = {}
        self._roomy: set[str] = set()
        self.mark = f"t-{os.getpid()}-{os.urandom(4).hex()}"

    def look(self, path: str) -> Standing:
        """Reads one path everywhere; raises Blocked where it is a link, a repository of its own or in conflict."""
        check(path)
        seen = self.repo.disk.read(path)
        raw = self.repo.objects.id_of(seen.content) if seen else None
        head, index = self.repo.objects.row(self.tree, path), self.index.row(path)
        if index and index.mode == "unmerged":
            raise Blocked("unmerged", path, f"{path} has an unresolved merge conflict.")
        for row in (head, index):
            if row and not row.regular:
                raise Blocked("path", path, f"{path} is not a regular file in git.")
        if index is None:
            self._room(path)
        return Standing(path, seen, raw, head, index)

    def _room(self, path: str) -> None:
        """Raises Blocked where git holds a file on the way to a new path, or a folder in its place."""
        parts = path.split("/")
        for folder in ("/".join(parts[:depth]) for depth in range(1, len(parts))):
            if folder in self._roomy:
                continue
            self._roomy.add(folder)
            row = self.repo.objects.row(self.tree, folder)
            if self.index.row(folder) or (row and row.mode != FOLDER):
                raise Blocked("path", path, f"{folder} on the way to {path} is a file in git, not a folder.")
        if self.index.inside(path):
            raise Blocked("path", path, f"{path} is a folder in git.")

    def change(self, change: ChangeSet) -> Refused | Stale | None:
        """Plans a change, adopting first the hand edits that it knows of."""
        adopted: dict[str, Row | None] = {}
        written: dict[str, Row | None] = {}
        self._unfiltered([edit.path for edit in change.edits])
        for edit in change.edits:
            place = self.look(edit.path)
            stopped = self._edit(edit, place, adopted, written)
            if stopped is not None:
                return stopped
            self.modes[edit.path] = self._mode(place)
        self._pair(written)
        reason = "a hand edit, committed as it was before a change to the same file"
        self._by_hand(adopted, Origin("owner", "disk", reason, change.origin.session, hands=change.origin.hands))
        folders = [*(f"+{folder}" for folder in change.folders), *(f"-{folder}" for folder in change.emptied)]
        if written or folders:
            message = compose(change.subject, change.origin, folders)
            self.work.drafts.append(Draft(identity(ASSISTANT), message, written))
        return None

    def merge(self, joint: Joint, subject: str, origin: Origin) -> Refused | Stale | None:
        """Plans to move on to another history, or to join it with this one; nothing on disk may differ from HEAD."""
        if self.head != joint.ours:
            return Stale("", "The branch moved while the other history was being looked at.")
        self._unfiltered(list(joint.changes))
        written: dict[str, Row | None] = {}
        for path, (old, new) in joint.changes.items():
            self.modes[path] = new.mode if new else ""
            place = self.look(path)
            edit = Edit(path, self._coming(place, new) if new else None, old.id if old else None)
            stopped = self._edit(edit, place, {}, written)
            if stopped is not None:
                return stopped
        if joint.forward:
            self.work.onto = joint.theirs if joint.theirs != joint.ours else ""
        else:
            message = compose(subject, origin)
            self.work.drafts.append(Draft(identity(ASSISTANT), message, written, joint.theirs))
        return None

    def _coming(self, place: Standing, new: Row) -> bytes:
        """Gives what a file shall hold on disk: the blob, with the line endings that the file has now."""
        if place.seen and place.head and place.raw != place.head.id:
            return self.repo.git.run("cat-file", "--filters", f"--path={place.path}", new.id)
        ((_, content),) = self.repo.reader.contents([new.id])
        return content

    def edited(self, changes: Mapping[str, tuple[Row | None, Row | None]]) -> tuple[str, ...]:
        """Gives those of the paths that another history changes which hold something else on disk than at HEAD.

        Raises Blocked where one can't be changed at all.
        """
        self._unfiltered(list(changes))
        found = []
        for path, (_, new) in changes.items():
            place = self.look(path)
            if new and not new.regular:
                raise Blocked("path", path, f"{path} is a link or a repository of its own there, not a file.")
            if place.staged and place.index != new:
                raise Blocked("staged", path, f"{path} has changes staged for a commit of your own.")
            if self._clean(place) != (place.head.id if place.head else None):
                found.append(path)
        return tuple(found)

    def _edit(
        self, edit: Edit, place: Standing, adopted: dict[str, Row | None], written: dict[str, Row | None]
    ) -> Refused | Stale | None:
        clean = self._clean(place)
        converts = clean is not None and clean != place.raw
        if place.raw != edit.expect and not (converts and clean == edit.expect):
            return Stale(edit.path, f"{edit.path} {_stale(edit.expect, place.raw)}.")
        raw = new = None if edit.content is None else self.repo.objects.id_of(edit.content)
        if converts and edit.content is not None:
            new = self._converted(edit.path, edit.content)
        row = Row(self._mode(place), new) if new else None
        if place.staged and place.index != row:
            return Refused("staged", f"{edit.path} has changes staged for a commit of your own.", edit.path)
        if clean != (place.head.id if place.head else None):
            adopted[edit.path] = self._adopted(place)
        before = adopted.get(edit.path, place.head)
        if row != before:
            written[edit.path] = row
            self._touch(edit, place, raw)
        if row != place.head or edit.path in adopted:
            self.work.rows[edit.path] = (place.index, row)
        return None

    def _pair(self, written: dict[str, Row | None]) -> None:
        """Makes a file that goes and one that comes with the same bytes a rename, which keeps its mode and age."""
        work = self.work
        going = {touch.old: touch for touch in work.touches if touch.new is None}
        paired: set[str] = set()
        touches: list[Touch] = []
        for touch in work.touches:
            source = going.pop(touch.new, None) if touch.old is None else None
            row = written.get(touch.path)
            if source is None or row is None:
                touches.append(touch)
                continue
            touches.append(replace(touch, source=source.path))
            paired.add(source.path)
            work.contents.pop(touch.temp)
            work.like[touch.path] = work.like[source.path]
            written[touch.path] = row = Row(self.modes[source.path], row.id)
            work.rows[touch.path] = (work.rows[touch.path][0], row)
        work.touches = [touch for touch in touches if touch.path not in paired]

    def _clean(self, place: Standing) -> str | None:
        """Gives the id that git would see on disk: HEAD's own where only line endings are converted."""
        if place.seen is None or place.head is None or place.raw == place.head.id:
            return place.raw
        if b"\r\n" not in place.seen.content:
            return place.raw
        converted = self._converted(place.path, place.seen.content, write=False)
        return converted if converted == place.head.id else place.raw

    def _converted(self, path: str, content: bytes, write: bool = True) -> str:
        words = ["hash-object", "--stdin", "--path", path, *(["-w"] if write else [])]
        return self.repo.git.run(*words, stdin=content).decode().strip()

    def _mode(self, place: Standing) -> str:
        if place.path in self.modes:
            return self.modes[place.path]
        if place.head:
            return place.head.mode
        return "100755" if place.seen and place.seen.stat.st_mode & 0o100 else "100644"

    def _adopted(self, place: Standing) -> Row | None:
        if place.seen is None:
            return None
        content = place.seen.content
        if place.head and b"\r\n" in content:
            ((_, before),) = self.repo.reader.contents([place.head.id])
            if b"\r\n" not in before:
                return Row(self._mode(place), self._converted(place.path, content))
        return Row(self._mode(place), self.repo.objects.write(content))

    def _touch(self, edit: Edit, place: Standing, new: str | None) -> None:
        if new == place.raw:
            return
        touch = Touch(edit.path, place.raw, new, f"{self.mark}-{len(self.work.touches)}")
        self.work.touches.append(touch)
        if edit.content is not None:
            self.work.contents[touch.temp] = edit.content
        if place.seen:
            self.work.like[edit.path] = place.seen.stat

    def adopt(self, paths: Sequence[str], origin: Origin) -> Refused | None:
        """Plans to commit paths as they are on disk, without those that changed again since they were looked at."""
        rows: dict[str, Row | None] = {}
        self._unfiltered(paths)
        for path in dict.fromkeys(paths):
            place = self.look(path)
            hand = origin.hands.get(path)
            again = hand is not None and hand.blob not in ("", place.raw)
            if again or self._clean(place) == (place.head.id if place.head else None):
                continue
            row = self._adopted(place)
            if place.staged:
                return Refused("staged", f"{path} has changes staged for a commit of your own.", path)
            rows[path] = row
            self.work.rows[path] = (place.index, row)
            if place.seen:
                self.work.like[path] = place.seen.stat
        self._by_hand(rows, origin)
        return None

    def _by_hand(self, rows: Mapping[str, Row | None], origin: Origin) -> None:
        """Drafts a commit for each author of hand edits."""
        found: dict[tuple[str, tuple[str, str]], dict[str, Row | None]] = {}
        for path, row in rows.items():
            hand = origin.hands.get(path) or Hand(origin.principal, self.owner, path)
            found.setdefault((hand.principal, hand.author), {})[path] = row
        for (principal, author), some in found.items():
            moved = self._moved(some)
            files = [origin.hands[path].file if path in origin.hands else path for path in some if path not in moved]
            subject = direct(files) if self.head else f"Take in {len(some)} files as they are"
            message = compose(subject, replace(origin, principal=principal))
            self.work.drafts.append(Draft(identity(author), message, some))

    def _moved(self, rows: Mapping[str, Row | None]) -> set[str]:
        """Gives the paths whose file only went elsewhere: one for each new file with the same bytes."""
        before = {path: self.work.rows[path][0] for path in rows}
        came = Counter(row.id for path, row in rows.items() if row and before[path] is None)
        found = set()
        for path, old in before.items():
            if rows[path] is None and old and came[old.id]:
                came[old.id] -= 1
                found.add(path)
        return found

    def _unfiltered(self, paths: Sequence[str]) -> None:
        """Raises Blocked where git would pass a path's text through a filter."""
        found = self.repo.attributes.filtered(paths)
        if found is not None:
            raise Blocked("filter", found[0], sentence(*found))


def check(path: str) -> None:
    """Raises Blocked for a path that no file of the repository can have."""
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Blocked("path", path, f"{path!r} is not a path inside the repository.")
    if len(parts) > DEEPEST or len(os.fsencode(path)) > LONGEST:
        raise Blocked("path", path, f"{path[:60]}… is longer or deeper than git and other programs can follow.")
    if any(part.casefold() in (".git", "git~1", PRIVATE) for part in parts):
        raise Blocked("path", path, f"{path} lies in a folder that belongs to git or to Quorra.")
    if any(len(os.fsencode(part)) > 255 for part in parts):
        raise Blocked("path", path, f"A part of {path[:60]}… is longer than a file name may be.")


def distinct(edits: Sequence[Edit]) -> None:
    """Raises Blocked where two edits are of one path, or one's path is a folder on the other's."""
    paths = sorted(edit.path for edit in edits)
    known = set(paths)
    for path, after in pairwise(paths):
        if path == after:
            raise Blocked("path", path, f"The change names {path} twice.")
    for edit in edits:
        parts = edit.path.split("/")
        for folder in ("/".join(parts[:depth]) for depth in range(1, len(parts))):
            if folder in known:
                raise Blocked("path", edit.path, f"{folder} can't be a file and the folder of {edit.path}.")


def direct(files: Sequence[str]) -> str:
    """Writes the subject of an adopted hand edit."""
    return f"Direct edit of {files[0] if len(files) == 1 else f'{len(files)} files'}"


def _stale(expected: str | None, found: str | None) -> str:
    if expected is None:
        return "is there already"
    return "is gone" if found is None else "changed since it was read"
