"""The files of a commit under way: changed one by one, put back, and never lost where a hand meets them."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, count

from quorra.ledger.change import Outcome, Refused, Stale
from quorra.ledger.commit.journal import Journal, Touch
from quorra.ledger.plumbing.disk import Blocked
from quorra.ledger.plumbing.repository import Repository

Steps = Callable[[str], None]
KEPT = "kept edit"


class Files:
    """Looks at each file again as it changes it; call it with both locks held.

    Where a hand edit was put aside because it met another one is added to ``rescued``.
    """

    def __init__(self, repo: Repository, steps: Steps, rescued: list[str]) -> None:
        self.repo = repo
        self.disk = repo.disk
        self.objects = repo.objects
        self.steps = steps
        self.rescued = rescued

    def change(self, journal: Journal) -> Outcome | None:
        """Changes every file; says at which one, and why, it had to stop."""
        for touch in journal.touches:
            try:
                if not self._change(touch):
                    return Stale(touch.path, f"{touch.path} was changed by another hand at the same moment.")
            except Blocked as error:
                return Refused.by(error)
            except OSError as error:
                return Refused("disk", f"{touch.path} can't be written: {error.strerror}.", touch.path)
            self.steps("file written")
        return None

    def resume(self, journal: Journal) -> bool:
        """Changes the files that are still as they were, if all of them are either that or done."""
        waiting = []
        for touch in journal.touches:
            state = self._state(touch)
            if state == "foreign" or (state == "before" and not self._as_before(touch)):
                return False
            if state == "before":
                waiting.append(touch)
        return all(self._change(touch) for touch in waiting)

    def restore(self, touch: Touch) -> None:
        """Puts a file back as it was, except where a hand has been at it since."""
        disk = self.disk
        if self._state(touch) == "before":
            return
        here = self._here(touch.path)
        try:
            if touch.source:
                disk.move(touch.path, touch.source)
            elif here != touch.new:
                pass
            elif touch.old is None:
                disk.take(touch.path, touch.temp)
            elif touch.new is None:
                disk.place(touch.path, touch.temp)
            else:
                disk.exchange(touch.path, touch.temp)
        except (FileExistsError, FileNotFoundError):
            pass

    def rescue(self, journal: Journal, *, stands: bool) -> None:
        """Brings to light what waits and is in no commit: a hand edit that met another one.

        ``stands`` tells that the journal's commits, and with them the texts before, are in the history.
        """
        tree = self.repo.tree_of(journal.head)
        for touch in journal.touches:
            waiting = self._waiting(touch)
            if waiting in (None, touch.new) or (stands and waiting == touch.old):
                continue
            row = self.objects.row(tree, touch.path)
            if row is None or row.id != waiting:
                self.rescued.append(self._beside(touch))

    def _change(self, touch: Touch) -> bool:
        """Changes one file and looks at what came out; False where it was not what was expected."""
        disk = self.disk
        try:
            if touch.source:
                disk.move(touch.source, touch.path)
                return self._here(touch.path) == touch.new
            if touch.old is None:
                disk.place(touch.path, touch.temp)
                return True
            if touch.new is None:
                disk.take(touch.path, touch.temp)
            else:
                disk.exchange(touch.path, touch.temp)
        except (FileExistsError, FileNotFoundError):
            return False
        return self._waiting(touch) == touch.old

    def _as_before(self, touch: Touch) -> bool:
        if touch.source and self._here(touch.source) != touch.new:
            return False
        return self._here(touch.path) == touch.old

    def _state(self, touch: Touch) -> str:
        """Tells from the temporary whether a file was not yet changed, was, or gave out somebody's edit."""
        if touch.source:
            # Whatever a hand did to a file that moved, it did where the file now is.
            moved = self._here(touch.source) is None or self._here(touch.path) == touch.new
            return "after" if moved else "before"
        waiting = self._waiting(touch)
        if touch.old is None:
            return "after" if waiting is None else "before"
        if touch.new is None:
            return "before" if waiting is None else "after" if waiting == touch.old else "foreign"
        # Without its temporary the change can only have been finished.
        return "before" if waiting == touch.new else "after" if waiting in (touch.old, None) else "foreign"

    def _waiting(self, touch: Touch) -> str | None:
        content = self.disk.waiting(touch.temp)
        return None if content is None else self.objects.id_of(content)

    def _here(self, path: str) -> str | None:
        seen = self.disk.read(path)
        return self.objects.id_of(seen.content) if seen else None

    def _beside(self, touch: Touch) -> str:
        """Puts what waits in its own place if that is free, else beside it; gives the path."""
        disk = self.disk
        with suppress(Blocked, OSError):
            for path in chain((touch.path,), variants(touch.path, KEPT)):
                with suppress(FileExistsError):
                    disk.place(path, touch.temp)
                    return path
        # Where no file can be made now it stays here, is never swept, and is told of at every start.
        os.replace(disk.tray / touch.temp, disk.tray / f"kept-{touch.temp}")
        return str(disk.tray / f"kept-{touch.temp}")


def variants(path: str, label: str) -> Iterator[str]:
    """Gives names for another version of a file, which stands beside it: ``a (label).md``, ``a (label 2).md``."""
    folder, slash, file = path.rpartition("/")
    stem, dot, ending = file.rpartition(".") if "." in file else (file, "", "")
    for number in count(1):
        yield f"{folder}{slash}{stem} ({label}{f' {number}' if number > 1 else ''}){dot}{ending}"
