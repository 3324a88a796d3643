"""The verbs about notes: read, note, check, links and log."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from quorra.access.window import OWNER
from quorra.errors import QuorraError
from quorra.ledger.change import Origin
from quorra.surfaces.cli.outcome import written
from quorra.surfaces.cli.verb import DONE, FAILED, Call, Result, counted, named, verb

if TYPE_CHECKING:
    from quorra.access.changes.documenting import Draft
    from quorra.ledger.change import Entry


@click.command()
@click.argument("path", callback=named)
@click.option("--at", metavar="REV", help="As it was at this revision.")
@verb
def read(call: Call, path: str, at: str | None) -> Result:
    """Show a note; PATH@REV shows it as it was."""
    from quorra.vault.library import NoNote

    with call.open() as home:
        try:
            found = home.library.read(path, home.window(call.principal, None), at)
        except NoNote as error:
            if at is not None and "@" in path:
                raise click.UsageError("A revision is named by PATH@REV or by --at REV, not by both.") from error
            raise
    return Result(
        {
            "path": found.note.path,
            "commit": found.commit,
            "blob": found.blob,
            "metadata": dict(found.note.metadata),
            "body": found.note.body,
        },
        found.note.text.rstrip("\n"),
    )


class NoText(QuorraError):
    """Nothing came on standard input."""

    code = "no_text"

    def __init__(self, path: str) -> None:
        super().__init__(
            f"No text came on standard input; {path} was not written.",
            "A note without text can be written with: --from /dev/null",
        )


@click.command()
@click.argument("path", callback=named)
@click.option("--from", "source", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Else stdin.")
@click.option("--message", help="Why, for the history.")
@click.option("--propose", is_flag=True, help="Put it into the inbox instead of writing it.")
@click.option("--expect", metavar="BLOB", help="Write only if the note still has this blob id.")
@click.option("--title", help="Assemble the frontmatter; with PATH ending in /, it names the note too.")
@click.option("--summary", help="What the note holds, as its first paragraph.")
@click.option("--type", "kind", metavar="WORD", help="What kind of note it is.")
@click.option("--tag", "tags", multiple=True, help="Adds a tag; may be given again.")
@click.option(
    "--entity", "entities", metavar="PATH", multiple=True, help="Adds a note that it is about; may be given again."
)
@click.option("--source", "origin", metavar="TEXT", help="What the note was taken from.")
@verb
def note(
    call: Call, path: str, source: Path | None, message: str | None, propose: bool, expect: str | None, **given: Any
) -> Result:
    """Write a note from a file or from stdin, as one commit.

    Without --title and the options below it, the text is written byte for byte.
    """
    from quorra.vault.texts import complete

    if not source and sys.stdin is None:
        raise click.UsageError("There is no standard input; name a file with --from.")
    content = source.read_bytes() if source else sys.stdin.buffer.read()
    assembled = any(value not in (None, ()) for value in given.values())
    silent = not content and not source and not (assembled and (given["summary"] or expect))
    with call.open() as home:
        # A stranger is refused below, whether the note is there or not.
        if silent and not (assembled and (call.principal != OWNER or home.texts.held(complete(path)))):
            raise NoText(path)
        origin = Origin(call.principal, "cli", message or "")
        if assembled:
            draft = _draft(path, content, **given)
            done = home.changes.document(draft, origin, expect=expect, propose=propose)
        else:
            done = home.changes.write(path, content, origin, expect=expect, propose=propose)
    result = written(done)
    made = done.planned and home.settings.public(done.planned.change.edits[0].path)
    first, *rest = result.text.splitlines()
    text = "\n".join((first, *([f"  {made}"] if made not in (None, path) and not result.exit else ()), *rest))
    return Result({**result.fields, "path": made}, text, result.exit)


def _draft(path: str, content: bytes, *, kind: str | None, origin: str | None, **given: Any) -> "Draft":
    """Gives the note to be assembled; without text, only its fields are set."""
    from quorra.access.changes.documenting import Draft
    from quorra.vault.writing.compose import Fields

    words = {key: value or "" for key, value in given.items() if key in ("title", "summary")}
    fields = Fields(**words, type=kind or "", tags=given["tags"], entities=given["entities"], source=origin or "")
    return Draft(path, fields, content or None)


@click.command()
@click.argument("paths", nargs=-1, callback=named)
@verb
def check(call: Call, paths: tuple[str, ...]) -> Result:
    """Validate notes; without PATHS, all of them."""
    with call.open() as home:
        checked = home.library.check(paths, home.window(call.principal, None))
    bad = any(issue.severity == "error" for issue in checked.issues)
    lines = [f"{at.path}:{at.line}: {at.severity} {at.code}: {at.message}" for at in checked.issues]
    lines.append(
        f"{counted(checked.notes, 'note')} checked, {counted(len(checked.dangling), 'link dangles', 'links dangle')}."
    )
    return Result(asdict(checked), "\n".join(lines), FAILED if bad else DONE)


@click.command()
@click.argument("path", callback=named)
@verb
def links(call: Call, path: str) -> Result:
    """Show what a note links to and what links to it, in order of appearance."""
    with call.open() as home:
        out, incoming = home.library.links(path, home.window(call.principal, None), home.graph())
    lines = [f"  {link.line}: {link.text} -> {link.resolves or '(dangles)'}" for link in out]
    lines += [f"  <- {link.path}:{link.line}" for link in incoming]
    fields = {"out": [asdict(link) for link in out], "in": [asdict(link) for link in incoming]}
    return Result(fields, "\n".join(lines) or "No links.")


@click.command()
@click.argument("path", required=False, callback=named)
@click.option("-n", "limit", type=click.IntRange(1), default=20, show_default=True, help="How many commits.")
@verb
def log(call: Call, path: str | None, limit: int) -> Result:
    """Show the history, of one note or of everything."""
    with call.open() as home:
        window = home.window(call.principal, None)
        entries = home.library.log(path, limit, window)
        if path and not entries:
            home.library.check([path], window)  # a note that was never committed has no history; any other name is none
    rows: list[dict[str, Any]] = [{**asdict(entry), "trailers": dict(entry.trailers)} for entry in entries]
    return Result({"entries": rows}, "\n".join(map(_told, entries)) or "No history yet.")


def _told(entry: "Entry") -> str:
    """Says who did what when, for whom and through what, and why where the subject doesn't say it."""
    told = f"{entry.commit[:10]} {entry.when[:16].replace('T', ' ')} {entry.author}"
    principal, surface, reason = (entry.trailers.get(f"Quorra-{name}") for name in ("Principal", "Surface", "Reason"))
    if principal:
        told += f" for {principal}{f', by {surface}' if surface else ''}"
    told += f": {entry.subject}"
    return f"{told}\n           because: {reason}" if reason not in (None, "none", entry.subject) else told
