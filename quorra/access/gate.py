"""The gate: decides for a principal whether a change may go into the ledger, and is the only one to hand it on."""

from dataclasses import replace

from quorra.access.window import OWNER
from quorra.ledger.change import ChangeSet, Outcome, Refused
from quorra.ledger.ledger import Ledger
from quorra.ledger.paths import Blocked, check, hidden
from quorra.settings import FILE, OWN

FACTS = "facts"
NAMED = "Name it from the vault's folder: household/boiler.md"


def apply(change: ChangeSet, principal: str, ledger: Ledger) -> Outcome:
    """Commits a change that this principal may make, in their name whatever its origin claims."""
    refused = writer(principal)
    if refused is not None:
        return refused
    for edit in change.edits:
        refused = _place(edit.path, ledger.roots)
        if refused is not None:
            return refused
    return ledger.commit(replace(change, origin=replace(change.origin, principal=principal)))


def writer(principal: str) -> Refused | None:
    """Refuses a principal who may not write at all."""
    if principal == OWNER:
        return None
    reason = f"{principal} may read but not write here; only the owner's changes are applied in this version."
    return Refused("not_owner", reason, advice="Ask the owner to write it.")


def _place(path: str, roots: tuple[str, ...]) -> Refused | None:
    """Refuses a path that is neither a note nor a facts page."""
    try:
        check(path)
    except Blocked as error:
        return error.refused
    parts = path.split("/")
    if hidden(path):
        return Refused("hidden", f"{path} is hidden, and hidden files are neither notes nor facts.", path)
    if not any(not root or path.startswith(root + "/") for root in roots):
        return Refused("outside", f"{path} lies outside the vault and the facts.", path, NAMED)
    if "" in roots and parts[0] != FACTS and (parts[0] in OWN or path == FILE):
        return Refused("outside", f"{path} belongs to Quorra's own folders, not to the vault.", path, NAMED)
    return None
