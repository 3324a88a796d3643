"""Pulling from other people's git: their commits joined with ours, what both sides changed parked for a person."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from shlex import quote

from quorra.access import gate, hands
from quorra.access.changes import merging
from quorra.access.planned import Written, told
from quorra.access.proposals import Proposals
from quorra.ledger.change import Applied, Origin, Outcome, Refused, Stale
from quorra.ledger.commit.files import variants
from quorra.ledger.remotes.joint import Clash, Joint, binary
from quorra.ledger.remotes.remote import Remote
from quorra.ledger.snapshot import hidden
from quorra.settings import FILE
from quorra.vault.strays import passing
from quorra.vault.texts import Texts

TRIES = 5
# These decide where texts are sent and what git runs on them, so that they are taken over only by a hand.
CLOSED = (".gitattributes", ".gitmodules")
ADOPTED = Origin("owner", "disk", "a hand edit, committed as it was before a pull of the same file")


@dataclass(frozen=True, slots=True)
class Pulled:
    """What became of a pull.

    ``done`` is its outcome, ``commits`` counts what came and ``files`` those it
    changed here. ``proposals`` hold their version of what both sides changed,
    ``removed`` names those of it that were removed here;
    ``kept`` are files of which they removed what was changed here, so that it stays.
    """

    done: Written
    source: str = ""
    commits: int = 0
    files: int = 0
    proposals: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(slots=True)
class Pull:
    """One pull on one home; ``parked``, ``kept`` and ``removed`` gather what became of clashes."""

    texts: Texts
    proposals: Proposals
    origin: Origin
    now: datetime
    parked: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def run(self) -> Pulled:
        """Fetches and joins; nothing here is changed where that can't be done whole."""
        source = self.texts.ledger.remotes.chosen()
        if isinstance(source, Refused):
            return Pulled(told(source))
        with self.texts.ledger.remotes.alone():
            return self._from(source)

    def _from(self, source: Remote) -> Pulled:
        ledger = self.texts.ledger
        tip = ledger.remotes.fetch(source)
        if isinstance(tip, Refused):
            return Pulled(told(tip), str(source))
        if tip is None:
            reason = f"{source.name} has no branch {source.branch} yet."
            helps = "Make it with: quorra remote push"
            return Pulled(Written("applied", commit=ledger.head(), reason=reason, next=helps), str(source))
        commits = ledger.behind(ledger.head(), tip)
        done: Outcome = Stale("", "Files or branch went on changing meanwhile.")
        files = 0
        for _ in range(TRIES):
            joint = ledger.join(tip)
            if isinstance(joint, Refused):
                return Pulled(told(_foreign(joint, source)), str(source))
            files = len(joint.changes)
            done = self._barred(joint, source) or self._adopted(joint) or self._joined(joint, source)
            if not isinstance(done, Stale):
                break
        met = (tuple(each) for each in (self.parked, self.kept, self.removed))
        return Pulled(told(done), str(source), commits, files, *met)

    def _public(self, path: str) -> str | None:
        return None if hidden(path) or passing(path) else self.texts.settings.public(path)

    def _barred(self, joint: Joint, source: Remote) -> Refused | None:
        """Refuses what only a person may take over."""
        for path in joint.changes:
            if path.casefold() == FILE or path.casefold().rpartition("/")[2] in CLOSED:
                reason = f"{source} changes {path}, which decides what is sent where and what git runs."
                look = f"Look at it with git diff HEAD...{source} -- {quote(path)}"
                return Refused("closed", reason, path, f"{look}, then take it over with git merge {source}.")
        clashing = [clash.path for clash in joint.clashes if self._public(clash.path) is None]
        if clashing:
            reason = f"Both sides changed {', '.join(clashing)}, which is neither a note nor a fact."
            return Refused("conflict", reason, clashing[0], f"Merge it with: git merge {source}")
        edited = [path for path in joint.edited if self._public(path) is None]
        if edited:
            reason = f"{', '.join(edited)} would be changed by {source} and differs here from what was committed."
            return Refused("dirty", reason, edited[0], "Commit it with git or put it elsewhere, then pull again.")
        return None

    def _adopted(self, joint: Joint) -> Outcome | None:
        """Commits the hand edits that are in the way, as the person's own; stale then, as the branch has moved."""
        if not joint.edited:
            return None
        paths = [*joint.edited, *self._renamed(joint)]
        origin = replace(ADOPTED, hands=hands.whose(self.texts.settings, paths))
        done = gate.adopt(paths, origin, self.texts)
        if isinstance(done, Applied):
            return None if done.commit == joint.ours else Stale("", "The hand edits are taken in first.")
        return done

    def _renamed(self, joint: Joint) -> Sequence[str]:
        """Gives the new files where one is gone from disk: it may be among them under another name."""
        ledger = self.texts.ledger
        if all(ledger.on_disk(path) is not None for path in joint.edited):
            return ()
        known = ledger.tree(joint.ours)
        return [path for path, blob in self.texts.snapshot().dirty.items() if blob and path not in known]

    def _joined(self, joint: Joint, source: Remote) -> Outcome:
        """Parks their side of what clashes, then joins; a crash in between leaves a proposal too many, not too few."""
        for met in (self.parked, self.kept, self.removed):
            met.clear()
        items = self.proposals.box.every() if joint.clashes else ()
        known = {item.payload.get("from"): item for item in items}
        for clash in joint.clashes:
            mark, before = f"{joint.theirs}:{clash.path}", len(self.parked)
            if mark in known:
                self.parked.extend([known[mark].id] if known[mark].state == "draft_ready" else [])
            elif refused := self._park(clash, mark, source):
                return refused
            if clash.ours is None and len(self.parked) > before:
                self.removed.append(self._public(clash.path) or clash.path)
        return gate.merge(joint, f"Merge {source}", self.origin, self.texts)

    def _park(self, clash: Clash, mark: str, source: Remote) -> Refused | None:
        """Proposes their version of a file; ``mark`` names it, so that nothing is proposed twice."""
        name = self._public(clash.path)
        assert name is not None
        if clash.theirs is None:
            self.kept.append(name)
            return None
        ledger = self.texts.ledger
        ours, base, theirs = (ledger.blob(blob) if blob else b"" for blob in (clash.ours, clash.base, clash.theirs))
        if any(map(binary, (ours, base, theirs))):
            name, base = self._beside(name, source), b""
        kept = {**merging.payload(self.texts, name, theirs, base=base), "from": mark}
        met = "both sides changed it" if clash.ours else "it was removed here and edited there"
        reason = f"{met}; this is how {source} has it"
        done = self.proposals.park("merge", kept, Origin("remote", "remote", reason), self.now)
        if done.proposal:
            self.parked.append(done.proposal)
        elif done.code == "nothing":
            self.kept.append(name)
        else:
            return Refused(done.code or "conflict", done.reason or "", clash.path, done.next or "")
        return None

    def _beside(self, name: str, source: Remote) -> str:
        """Names a file for their version of what can't be merged line by line."""
        names = variants(name, source.name.replace("/", "-"))
        return next(path for path in names if self.texts.held(path) is None)


def _foreign(refused: Refused, source: Remote) -> Refused:
    """Says what to do where a path that came from elsewhere can't be written here."""
    if refused.code not in ("path", "filter"):
        return refused
    return replace(refused, advice=f"Nothing was taken over. Have it mended at {source}, or merge it with git.")
