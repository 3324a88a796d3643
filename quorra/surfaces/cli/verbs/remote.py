"""Other people's git on the command line: pull and push."""

from dataclasses import replace
from typing import TYPE_CHECKING

import rich_click as click

from quorra.ledger.change import Origin
from quorra.surfaces.cli.outcome import written
from quorra.surfaces.cli.verb import Call, Result, counted, verb

if TYPE_CHECKING:
    from quorra.access.changes.pulling import Pulled


@click.group(cls=click.RichGroup)
def remote() -> None:
    """Share the home through a git remote: pull what others did, push what is here."""


@remote.command()
@verb
def pull(call: Call) -> Result:
    """Take in what others committed; where both sides changed the same lines, theirs waits in the inbox."""
    with call.open() as home:
        call.owns("The remote")
        done = home.changes.pull(Origin(call.principal, "cli", ""))
    told = written(done.done)
    more = {"proposals": list(done.proposals), "kept": list(done.kept), "commits": done.commits, "files": done.files}
    return replace(told, fields={**told.fields, **more}, text="\n".join([told.text, *_came(done)]))


@remote.command()
@verb
def push(call: Call) -> Result:
    """Send what is committed here; nothing at the remote is ever overwritten."""
    with call.open() as home:
        call.owns("The remote")
        told = written(home.changes.push(Origin(call.principal, "cli", "")))
        waiting = len(home.ledger.snapshot().dirty)
    if told.exit or not waiting:
        return told
    stayed = f"{counted(waiting, 'file is', 'files are')} in no commit yet and stayed here."
    return replace(told, text=f"{told.text}\n{stayed}")


def _came(done: "Pulled") -> list[str]:
    """Says what a pull brought, and what is left to look at."""
    if done.done.outcome != "applied" or done.done.reason:
        return []
    if not done.commits:
        return [f"  nothing new at {done.source}"]
    lines = [f"  {counted(done.commits, 'commit')} from {done.source}, {counted(done.files, 'file')} changed here"]
    again = "you removed it, they edited it; approving brings it back: quorra review list"
    lines += [f"  {path}: {again}" for path in done.removed]
    if both := len(done.proposals) - len(done.removed):
        waits = counted(both, "version of theirs waits", "versions of theirs wait")
        lines.append(f"  both sides changed the same lines; yours stand, and {waits}: quorra review list")
    lines += [f"  {path}: they removed what was changed here; it stays" for path in done.kept]
    return lines
