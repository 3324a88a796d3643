"""Tools for the inbox and for taking a commit back; only those who may write reach any of them."""

import re
from typing import Any

import msgspec

from quorra.access import gate
from quorra.access.changes import undoing
from quorra.access.planned import Planned, Written
from quorra.access.proposals import Shown
from quorra.agent.calling.tool import Draft, Reach, Result, Tool
from quorra.agent.scopes import GENERAL
from quorra.agent.tools.told import given, quoted, written
from quorra.agent.tools.told.given import Text
from quorra.ledger.history import UnknownRevision
from quorra.state.inbox import Item

_MOST = 20
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


class ReviewList(msgspec.Struct):
    """List the proposals that wait for approval."""


class ReviewShow(msgspec.Struct):
    """Show what a proposal would change now."""

    id: Text


class ReviewApprove(msgspec.Struct):
    """Do what a proposal says. The person is asked first."""

    id: Text


class ReviewDecline(msgspec.Struct):
    """Close a proposal without doing it. The person is asked first."""

    id: Text
    reason: Text = ""


class UndoChange(msgspec.Struct):
    """Take a commit back. The person is asked first."""

    commit: Text
    reason: Text = ""


def waiting(reach: Reach) -> tuple[Item, ...]:
    """Gives the proposals that wait and that may be told of here: none, unless this principal may write.

    Where others listen, they are those of which every path lies in view.
    """
    if gate.barred(reach.principal):
        return ()
    proposals = reach.rooms.proposals()
    return tuple(item for item in proposals.waiting() if reach.window.whole or _seen(reach, proposals.plan(item)))


def _seen(reach: Reach, planned: Planned | Written) -> bool:
    """Tells whether all that a change touches lies in view."""
    if isinstance(planned, Written):
        return False
    public = reach.rooms.library.texts.public
    paths = [public(path) for path in (edit.path for edit in planned.change.edits)]
    folders = [*planned.change.folders, *planned.change.emptied]
    return not folders and all(path is not None and reach.window.sees(path) for path in paths)


def _waits(reach: Reach) -> bool:
    return bool(waiting(reach))


def every(reach: Reach, call: ReviewList) -> Result:
    """Lists what waits, the oldest first."""
    items = waiting(reach)
    rows = [
        f"{item.id} {item.created[:16].replace('T', ' ')} from {quoted.inline(item.principal, 60)}:"
        f" {quoted.inline(item.title)}"
        for item in items[:_MOST]
    ]
    rest = [f"… and {len(items) - _MOST} more"] if len(items) > _MOST else []
    told = "Nothing waits that you may see." if not items else f"{len(items)} waiting. review_show tells what one does."
    return Result("\n".join([told, *rows, *rest]))


def show(reach: Reach, call: ReviewShow) -> Result:
    """Shows one as it would be done now."""
    found = _item(reach, call.id)
    if isinstance(found, Result):
        return found
    shown = reach.rooms.proposals().show(found.id)
    if shown.planned is None:
        return Result(f"{_head(found)}\nIt can't be done now: {quoted.plain(shown.reason or '')}")
    _, told, paths = written.changes(shown.planned, reach.rooms.library.texts)
    return Result(f"{_head(found)}\n{quoted.NOTICE}\n{told}", targets=paths)


def approval(reach: Reach, call: ReviewApprove) -> Draft | Result:
    """Puts into words what would be done now, from the change itself."""
    found = _item(reach, call.id)
    if isinstance(found, Result):
        return found
    proposals = reach.rooms.proposals()
    shown = proposals.show(found.id)
    if shown.planned is None or shown.rendering is None:
        return Result(f"{found.id} can't be done now: {quoted.plain(shown.reason or '')}", ok=False)
    few, told, _ = written.changes(shown.planned, reach.rooms.library.texts)
    mark = f"{found.id} {proposals.box.get(found.id).shown}"
    return Draft(f"Approve proposal {found.id}: {few}", f"{_head(found)}\n{told}", mark)


def approve(reach: Reach, call: ReviewApprove) -> Result:
    """Does what was proposed."""
    found = _item(reach, call.id)
    if isinstance(found, Result):
        return found
    return written.result(reach.rooms.proposals().approve(found.id, reach.principal, reach.now), reach)


def refusal(reach: Reach, call: ReviewDecline) -> Draft | Result:
    """Says which proposal would be closed."""
    found = _item(reach, call.id)
    if isinstance(found, Result):
        return found
    few = _few(reach, reach.rooms.proposals().show(found.id))
    return Draft(
        f"Decline proposal {found.id}: {few}", f"{_head(found)}\nIt is closed, and nothing is changed.", found.id
    )


def decline(reach: Reach, call: ReviewDecline) -> Result:
    """Closes a proposal."""
    found = _item(reach, call.id)
    if isinstance(found, Result):
        return found
    return written.result(reach.rooms.proposals().decline(found.id, given.text(call.reason), reach.now), reach)


def undoable(reach: Reach, call: UndoChange) -> Draft | Result:
    """Puts into words what taking a commit back would change now."""
    found = _undone(reach, call)
    if isinstance(found, Result):
        return found
    commit, planned = found
    texts = reach.rooms.library.texts
    few, told, _ = written.changes(planned, texts)
    head = f"Takes back commit {commit[:10]}, called {quoted.inline(texts.ledger.subject(commit))}. Doing so"
    return Draft(f"Undo commit {commit[:10]}: {few}", f"{head}\n{told}", written.mark(planned, commit))


def undo(reach: Reach, call: UndoChange) -> Result:
    """Takes a commit back, as a commit of its own."""
    found = _undone(reach, call)
    if isinstance(found, Result):
        return found
    origin = reach.origin("undo_change", given.text(call.reason))
    return written.result(reach.rooms.changes.undo(found[0], origin), reach)


def _undone(reach: Reach, call: UndoChange) -> tuple[str, Planned] | Result:
    """Gives the commit that is named and the change that takes it back; only an id names the same one for good."""
    name = given.bare(given.text(call.commit)).lower().removeprefix("commit ").strip()
    unknown = f"There is no commit {quoted.inline(name)} to undo. Give its id as note_history tells it."
    if not _COMMIT.fullmatch(name) or gate.barred(reach.principal):
        return Result(unknown, ok=False)
    texts = reach.rooms.changes.texts
    try:
        commit = texts.ledger.resolve(name)
        planned = undoing.plan(texts, commit, reach.origin("undo_change", given.text(call.reason)))
    except UnknownRevision:
        return Result(unknown, ok=False)
    if not reach.window.whole and not _seen(reach, planned):
        return Result(unknown, ok=False)
    return (commit, planned) if isinstance(planned, Planned) else written.result(planned, reach)


def _item(reach: Reach, given_id: Any) -> Item | Result:
    """Gives the waiting proposal of an id; what is not theirs to see is told of as what is not there."""
    name = given.text(given_id).strip().strip("`\"'#").lower()
    items = waiting(reach)
    for item in items:
        if item.id == name:
            return item
    known = ", ".join(item.id for item in items[:_MOST])
    told = f"These wait: {known}." if known else "Nothing waits that you may see."
    return Result(f"No proposal {quoted.inline(name)} waits. {told}", ok=False)


def _head(item: Item) -> str:
    told = f"Proposal {item.id} from {quoted.inline(item.principal, 60)} by {quoted.inline(item.surface, 60)}"
    return f"{told} on {item.created[:10]}; the reason given: {quoted.inline(item.reason)}"


def _few(reach: Reach, shown: Shown) -> str:
    return written.changes(shown.planned, reach.rooms.library.texts)[0] if shown.planned else "it can't be done now"


_SCOPES = frozenset({GENERAL})
TOOLS = (
    Tool("review_list", ReviewList, _SCOPES, 0, every, writes=True, useful=_waits),
    Tool("review_show", ReviewShow, _SCOPES, 0, show, writes=True, useful=_waits),
    Tool("review_approve", ReviewApprove, _SCOPES, 2, approve, approval, writes=True, useful=_waits),
    Tool("review_decline", ReviewDecline, _SCOPES, 2, decline, refusal, writes=True, useful=_waits),
    Tool("undo_change", UndoChange, _SCOPES, 2, undo, undoable, writes=True),
)
