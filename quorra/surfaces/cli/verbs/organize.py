"""The verbs that reorganize the vault: move, rename, promote, mkdir, remove and plan."""

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from quorra.ledger.change import Origin
from quorra.surfaces import fields
from quorra.surfaces.cli.outcome import written
from quorra.surfaces.cli.verb import Call, Result, verb
from quorra.vault.reorg import operation
from quorra.vault.reorg.operation import Operation

if TYPE_CHECKING:
    from quorra.home import Home


def organizing(run: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a verb the options that all of these share."""
    for option in (
        click.option("--dry-run", is_flag=True, help="Show what would change and write nothing."),
        click.option("--propose", is_flag=True, help="Put it into the inbox instead of doing it."),
        click.option("--message", help="Why, for the history."),
    ):
        run = option(run)
    return run


def _done(call: Call, operations: Sequence[Operation], **how: Any) -> Result:
    with call.open() as home:
        return _organized(call, home, operations, **how)


def _organized(
    call: Call, home: "Home", operations: Sequence[Operation], dry_run: bool, propose: bool, message: str | None
) -> Result:
    origin = Origin(call.principal, "cli", message or "")
    done = home.changes.organize(operations, origin, propose=propose, dry=dry_run)
    return replace(written(done), fields=fields.organized(done))


@click.command()
@click.argument("src")
@click.argument("dst")
@organizing
@verb
def move(call: Call, src: str, dst: str, **how: Any) -> Result:
    """Move a note, a file or a folder, and take every link along.

    DST is its new path, or an existing folder (or one written with a slash at its end) to put it into.
    """
    with call.open() as home:
        into = dst.endswith("/") or home.library.folder(dst)
        target = f"{dst.rstrip('/')}/{posixpath.basename(src.rstrip('/'))}" if into else dst
        return _organized(call, home, [Operation("move", src, target)], **how)


@click.command()
@click.argument("src")
@click.argument("name")
@organizing
@verb
def rename(call: Call, src: str, name: str, **how: Any) -> Result:
    """Give a note, a file or a folder another name where it lies."""
    if "/" in name:
        raise click.UsageError("NAME is a name without folders; to another folder it goes with: quorra move")
    return _done(call, [Operation("rename", src, posixpath.join(posixpath.dirname(src.rstrip("/")), name))], **how)


@click.command()
@click.argument("path")
@organizing
@verb
def promote(call: Call, path: str, **how: Any) -> Result:
    """Make a folder of a note: foo.md becomes foo/overview.md."""
    return _done(call, [Operation("promote_to_folder", path)], **how)


@click.command()
@click.argument("folder")
@organizing
@verb
def mkdir(call: Call, folder: str, **how: Any) -> Result:
    """Make a folder."""
    return _done(call, [Operation("create_folder", folder)], **how)


@click.command()
@click.argument("path")
@organizing
@verb
def remove(call: Call, path: str, **how: Any) -> Result:
    """Remove a note that is empty or marked dead, if nothing links to it, or an empty folder."""
    return _done(call, [Operation("delete", path)], **how)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@organizing
@verb
def plan(call: Call, file: Path, **how: Any) -> Result:
    """Do a whole plan at once: a YAML file with a list of operations."""
    return _done(call, operation.read(file.read_bytes()), **how)
