"""Changes in words: what one would do, and what became of it."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quorra.access.changes import patch
from quorra.access.planned import Planned, Written
from quorra.agent.calling.tool import Reach, Result
from quorra.agent.tools.told import quoted
from quorra.vault.note import Issue
from quorra.vault.texts import Texts

_ISSUES, _ROWS, _LINES, _ROOM = 8, 20, 60, 4000


@dataclass(frozen=True, slots=True)
class Delta:
    """A file before and after; ``came`` names where it lay, empty where it stays or is new."""

    path: str
    before: bytes | None
    after: bytes | None
    came: str = ""

    def told(self) -> str:
        """Says in one line what becomes of the file, counted from its bytes."""
        name = quoted.inline(self.path, 400)
        if self.after is None:
            return f"removes {name}, {quoted.counted((self.before or b'').count(10) or 1, 'line')}"
        steps = patch.hunks(self.before or b"", self.after)
        added, gone = sum(len(step.lines) for step in steps), sum(step.stop - step.start for step in steps)
        lines = f"{quoted.counted(added, 'line')} added, {gone} removed"
        if self.came:
            return f"moves {quoted.inline(self.came, 400)} to {name}" + (f", {lines}" if added or gone else "")
        return f"{'makes' if self.before is None else 'changes'} {name}: {lines}"

    def diff(self) -> Iterator[str]:
        """Gives the lines that go and those that come."""
        before = self.before or b""
        old = before.splitlines(keepends=True)
        for step in patch.hunks(before, self.after or b""):
            yield from (f"-{_line(line)}" for line in old[step.start : step.stop])
            yield from (f"+{_line(line)}" for line in step.lines)


def deltas(planned: Planned, texts: Texts) -> list[Delta]:
    """Gives what becomes of each file that a change touches, on today's texts."""
    came = {new: old for old, new in planned.moved}
    found = []
    for edit in planned.change.edits:
        path = texts.settings.public(edit.path) or edit.path
        if edit.content is None and path in came.values():
            continue
        old = came.get(path, "")
        before = texts.held(old) if old else texts.now(edit.path)
        found.append(Delta(path, before[1] if before else None, edit.content, old))
    return found


def changes(planned: Planned, texts: Texts) -> tuple[str, str, tuple[str, ...]]:
    """Says what a change would do: in a few words, in full with its first changed lines, and on which paths."""
    each = deltas(planned, texts)
    rows = [delta.told() for delta in each]
    rows += [f"makes the folder {_folder(folder, texts)}" for folder in planned.change.folders]
    rows += [f"removes the folder {_folder(folder, texts)}" for folder in planned.change.emptied]
    told = [*_short(rows), *_excerpt([line for delta in each for line in delta.diff()])]
    few = (
        rows[0] if len(rows) == 1 else f"{quoted.counted(len(rows), 'change')}, first: {rows[0]}" if rows else "nothing"
    )
    return few, "\n".join(told), tuple(delta.path for delta in each)


def mark(planned: Planned, *names: str) -> str:
    """Identifies a change by all that it would write where, and by some names."""
    found = hashlib.sha256("\0".join(names).encode("utf-8", "surrogateescape"))
    for edit in sorted(planned.change.edits, key=lambda edit: edit.path):
        found.update(f"\1{edit.path}\0{edit.expect}\0{edit.content is None}\0".encode("utf-8", "surrogateescape"))
        found.update(hashlib.sha256(edit.content or b"").digest())
    for folder in (*planned.change.folders, "\2", *planned.change.emptied):
        found.update(f"\3{folder}".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def result(done: Written, reach: Reach, said: str = "") -> Result:
    """Tells the model what became of a change; where nothing did, what to do about it."""
    texts = reach.rooms.library.texts
    paths = tuple(delta.path for delta in deltas(done.planned, texts)) if done.planned else ()
    told = [f"{said}{_outcome(done)}"]
    if done.planned and done.planned.dangling:
        before, after = done.planned.dangling
        told += _short([f"{quoted.inline(old, 400)} -> {quoted.inline(new, 400)}" for old, new in done.planned.moved])
        told += _short(
            [f"{quoted.counted(n, 'link')} spelled anew in {quoted.inline(p, 400)}" for p, n in done.planned.rewritten]
        )
        told.append(f"Links that lead nowhere: {before} before, {after} after.")
    told += _issues(done.issues)
    good = done.outcome in ("applied", "parked", "declined", "planned")
    return Result("\n".join(told), ok=good, targets=paths, commit=done.commit, proposal=done.proposal)


def _outcome(done: Written) -> str:
    if done.outcome == "applied":
        return f"Done: commit {(done.commit or '')[:10]}."
    if done.outcome == "declined":
        return f"Declined: proposal {done.proposal} is closed and nothing was changed."
    if done.outcome == "parked" and not done.reason:
        return f"Nothing is changed yet. It waits as proposal {done.proposal} until a person approves it."
    advice = done.next if done.next and not {"quorra", "git"} & set(done.next.lower().split()) else ""
    return " ".join(part for part in ("Not done.", quoted.plain(done.reason or ""), quoted.plain(advice)) if part)


def _issues(issues: Sequence[Issue]) -> list[str]:
    """Gives the gravest issues in words."""
    gravest = sorted(issues, key=lambda issue: ("error", "warning", "info").index(issue.severity))
    rows = [f"{at.severity}, line {at.line}: {quoted.plain(at.message)}" for at in gravest[:_ISSUES]]
    return [*rows, f"… and {len(issues) - _ISSUES} more"] if len(issues) > _ISSUES else rows


def _excerpt(rows: Sequence[str]) -> list[str]:
    """Gives the first lines of a diff as quoted text, and says how many more there are."""
    kept: list[str] = []
    room = _ROOM
    for row in rows[:_LINES]:
        short = row if len(row) <= 400 else f"{row[:399]}…"
        if len(short) > room:
            break
        room -= len(short)
        kept.append(short)
    rest = (
        [f"{quoted.counted(len(rows) - len(kept), 'changed line')} more, not shown here."]
        if len(kept) < len(rows)
        else []
    )
    return [*([quoted.block("\n".join(kept))] if kept else []), *rest]


def _folder(path: str, texts: Texts) -> str:
    return quoted.inline(texts.settings.public(path) or path, 400)


def _line(raw: bytes) -> str:
    return " ".join(quoted.lines(raw.decode("utf-8", "replace").rstrip("\r\n")))


def _short(rows: Sequence[str]) -> Sequence[str]:
    return rows if len(rows) <= _ROWS else [*rows[:_ROWS], f"… and {len(rows) - _ROWS} more"]
