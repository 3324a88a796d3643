"""The inbox on the command line: list, show, approve and decline; and a step back."""

from datetime import datetime
from typing import Any

import rich_click as click

from quorra.access.proposals import Shown
from quorra.surfaces import fields
from quorra.surfaces.cli.verb import Call, Result, counted, verb
from quorra.surfaces.cli.verbs.note import written


@click.group(cls=click.RichGroup)
def review() -> None:
    """See what waits in the inbox; approve or decline it."""


@review.command("list")
@verb
def every(call: Call) -> Result:
    """List what waits for a yes."""
    with call.open() as home:
        call.owns("The inbox")
        items = home.proposals.box.waiting()
    lines = [f"{item.id}  {item.created[:16].replace('T', ' ')}  {item.principal}: {item.title}" for item in items]
    lines.append(f"{counted(len(items), 'proposal')}. Look at one with: quorra review show ID")
    return Result({"items": [fields.item(item) for item in items]}, "\n".join(lines))


@review.command()
@click.argument("ident", metavar="ID")
@verb
def show(call: Call, ident: str) -> Result:
    """Show one proposal as it would be done now: what moves where, and the changed lines."""
    with call.open() as home:
        call.owns("The inbox")
        shown = home.proposals.show(ident)
        diff = home.ledger.difference(shown.rendering) if shown.rendering else ""
    return Result({"item": fields.shown(shown, diff)}, _told(shown, diff))


@review.command()
@click.argument("ident", metavar="ID")
@verb
def approve(call: Call, ident: str) -> Result:
    """Do what was proposed, if it still is what was seen."""
    with call.open() as home:
        done = home.proposals.approve(ident, call.principal, datetime.now().astimezone())
    return written(done)


@review.command()
@click.argument("ident", metavar="ID")
@click.option("--reason", default="", help="Why not.")
@verb
def decline(call: Call, ident: str, reason: str) -> Result:
    """Close a proposal without doing it."""
    with call.open() as home:
        call.owns("The inbox")
        done = home.proposals.decline(ident, reason, datetime.now().astimezone())
    return written(done)


@click.command()
@click.argument("commit")
@click.option("--message", help="Why, for the history.")
@verb
def undo(call: Call, commit: str, message: str | None) -> Result:
    """Take a commit back, as a commit of its own."""
    with call.open() as home:
        done = home.undo(commit, principal=call.principal, surface="cli", reason=message or "")
    return written(done)


def _told(shown: Shown, diff: str) -> str:
    item: Any = shown.item
    lines = [f"{item.id} ({item.state}): {item.title}", f"  by {item.principal} through {item.surface}: {item.reason}"]
    if shown.reason:
        lines.append(f"  It can't be done now: {shown.reason}")
    if shown.planned:
        lines += [f"  {old} -> {new}" for old, new in shown.planned.moved]
        lines += [f"  {counted(links, 'link')} in {path}" for path, links in shown.planned.rewritten]
    return "\n".join([*lines, "", diff.rstrip("\n")] if diff else lines)
