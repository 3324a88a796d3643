"""The inbox on the command line: list, show, approve and decline; and a step back."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from quorra.ledger.change import Origin
from quorra.surfaces import fields
from quorra.surfaces.cli import tree
from quorra.surfaces.cli.outcome import written
from quorra.surfaces.cli.verb import Call, Result, counted, verb

if TYPE_CHECKING:
    from quorra.access.proposals import Shown
    from quorra.state.inbox import Item

LINKS, DIFF = 12, 200
STATES: Mapping[str, str] = {
    "draft_ready": "waits",
    "approved": "is being applied",
    "failed": "is being applied",
    "applied": "applied",
    "declined": "declined",
    "cancelled": "dropped",
    "expired": "expired",
}


@click.group(cls=click.RichGroup)
def review() -> None:
    """See what waits in the inbox; approve or decline it."""


@review.command("list")
@click.option("--all", "ended", is_flag=True, help="Those too that were approved, declined or ended otherwise.")
@verb
def every(call: Call, ended: bool) -> Result:
    """List what waits for a yes."""
    with call.open() as home:
        call.owns("The inbox")
        items = home.proposals.every() if ended else home.proposals.waiting()
    lines = [line for item in items for line in _listed(item)]
    shows = "Look at one with: quorra review show ID"
    lines.append(f"{counted(len(items), 'proposal')}. {shows}" if items else "Nothing waits.")
    return Result({"items": [fields.item(item) for item in items]}, "\n".join(lines))


def _listed(item: "Item") -> Iterator[str]:
    """Gives one line, and a second for what became of it: its commit, or why it was not done."""
    state = "" if item.state == "draft_ready" else f" ({STATES[item.state]})"
    yield f"{item.id}  {item.created[:16].replace('T', ' ')}  {item.principal}: {item.title}{state}"
    if item.result:
        tried = "last try: " if item.state == "draft_ready" else ""
        yield f"          {tried}{item.result}"


@review.command()
@click.argument("ident", metavar="ID")
@verb
def show(call: Call, ident: str) -> Result:
    """Show one proposal as it would be done now: what moves where, and the changed lines."""
    with call.open() as home:
        call.owns("The inbox")
        shown = home.proposals.show(ident)
        diff = home.ledger.difference(shown.rendering) if shown.rendering else ""
        item = fields.shown(shown, diff, home.settings.public)
        names = home.texts.places() if "tree" in item and not call.json else ()
    return Result({"item": item}, "\n".join(_told(shown, item, names)))


@review.command()
@click.argument("ident", metavar="ID")
@verb
def approve(call: Call, ident: str) -> Result:
    """Do what was proposed, if it still is what was seen."""
    with call.open() as home:
        done = home.review.approve(ident, call.principal)
    return written(done)


@review.command()
@click.argument("ident", metavar="ID")
@click.option("--reason", default="", help="Why not.")
@verb
def decline(call: Call, ident: str, reason: str) -> Result:
    """Close a proposal without doing it."""
    with call.open() as home:
        call.owns("The inbox")
        done = home.review.decline(ident, reason, call.principal)
    return written(done)


@click.command()
@click.argument("commit")
@click.option("--message", help="Why, for the history.")
@verb
def undo(call: Call, commit: str, message: str | None) -> Result:
    """Take a commit back, as a commit of its own."""
    with call.open() as home:
        origin = Origin(call.principal, "cli", message or "")
        done = home.audit.act(
            home.ledger.clock, lambda: home.changes.undo(commit, origin), lambda done: done.good,
            principal=call.principal, action="undo", tool="undo", tier=2, target=commit,
        )  # fmt: skip
    return written(done)


def _told(shown: "Shown", told: Mapping[str, Any], names: Collection[str]) -> Iterator[str]:
    """Tells what it is, the tree before and after, whose links change, and the changed lines."""
    item = shown.item
    yield f"{item.id} ({STATES[item.state]}): {item.title}"
    yield f"  by {item.principal} through {item.surface}: {item.reason}"
    if item.state != "draft_ready":
        yield f"  {_became(item)}"
    elif shown.reason:
        yield f"  It can't be done now: {shown.reason}"
    if "tree" in told:
        before, after = told["tree"]["before"], told["tree"]["after"]
        stays = tree.staying(names, [*before, *after])
        yield from ("Before:", *tree.drawn(before, stays), "After:", *tree.drawn(after, stays))
    links = [f"  {counted(row['links'], 'link')} in {row['path']}" for row in told.get("rewritten", ())]
    yield from _cut(["Links spelled anew:", *links] if links else [], LINKS, "notes")
    if shown.reason and told["diff"]:
        yield "As it was proposed:"
    if told["diff"]:
        lines = told["diff"].rstrip("\n").split("\n")
        yield from ("", *_cut(lines, DIFF, f"lines; all of them: git diff {shown.rendering}^ {shown.rendering}"))


def _became(item: "Item") -> str:
    """Says what became of an item that waits no more, and when."""
    if item.state in ("approved", "failed"):
        return "It is being applied just now."
    told = f"It was {STATES[item.state]} on {item.changed[:16].replace('T', ' at ')}"
    if item.state == "applied":
        return f"{told} as {item.result}."
    return f"{told}: {item.result.rstrip('.')}." if item.result else f"{told}."


def _cut(lines: Sequence[str], most: int, what: str) -> Sequence[str]:
    """Keeps a list short, and says by how much."""
    return lines if len(lines) <= most else [*lines[:most], f"  … and {len(lines) - most} more {what}"]
