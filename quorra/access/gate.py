"""The gate: decides for a principal whether a change may go into the ledger, and is the only one to hand it on."""

from collections.abc import Sequence
from dataclasses import replace

from quorra.access import hands
from quorra.access.planned import Planned, Written, told
from quorra.access.window import OWNER
from quorra.ledger.change import ChangeSet, Origin, Outcome, Refused
from quorra.ledger.remotes.joint import Joint
from quorra.ledger.snapshot import hidden
from quorra.vault import strays
from quorra.vault.texts import Texts

NAMED = "Name it from the vault's folder: household/boiler.md"


def apply(change: ChangeSet, principal: str, texts: Texts) -> Outcome:
    """Commits a change that this principal may make, in their name whatever its origin claims."""
    paths = [edit.path for edit in change.edits]
    refused = barred(principal) or _misplaced(paths, texts)
    if refused is not None:
        return refused
    whose = hands.whose(texts.settings, paths)
    origin = replace(change.origin, principal=principal, hands=whose)
    return texts.ledger.commit(replace(change, origin=origin))


def adopt(paths: Sequence[str], origin: Origin, texts: Texts) -> Outcome:
    """Commits hand edits of notes and facts as they are, in the names of those whose hands they are."""
    return _misplaced(paths, texts) or texts.ledger.adopt(paths, origin)


def merge(joint: Joint, subject: str, origin: Origin, texts: Texts) -> Outcome:
    """Joins another history with this one for a principal who may write."""
    return barred(origin.principal) or texts.ledger.merge(joint, subject, origin)


def carry(planned: Planned | Written, principal: str, texts: Texts) -> Written:
    """Carries out what was planned, if anything may be."""
    if isinstance(planned, Written):
        return planned
    return told(apply(planned.change, principal, texts), planned.issues, planned)


def barred(principal: str) -> Refused | None:
    """Refuses a principal who may not write at all."""
    if principal == OWNER:
        return None
    reason = f"{principal} may read but not write here; only the owner's changes are applied in this version."
    return Refused("not_owner", reason, advice="Ask the owner to write it.")


def _misplaced(paths: Sequence[str], texts: Texts) -> Refused | None:
    return next((refused for path in paths if (refused := _place(path, texts))), None)


def _place(path: str, texts: Texts) -> Refused | None:
    """Refuses a path that is neither a note nor a facts page."""
    if hidden(path):
        return Refused("hidden", f"{path} is hidden, and hidden files are neither notes nor facts.", path)
    if strays.passing(path):
        reason = f"{path} is named as editors name files that are there in passing."
        return Refused("passing", reason, path, "Give it another name.")
    if texts.settings.public(path) is None:
        return Refused("outside", f"{path} belongs neither to the vault nor to the facts.", path, NAMED)
    return None
