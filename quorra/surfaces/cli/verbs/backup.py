"""The verbs that keep a home in one file and bring it back: backup and restore."""

from os.path import abspath
from pathlib import Path
from shlex import quote

import rich_click as click

from quorra.surfaces.cli.verb import Call, Result, counted, named, verb


@click.command()
@click.argument("file", callback=named)
@click.option("--replace", is_flag=True, help="Overwrite FILE if it is there.")
@verb
def backup(call: Call, file: str, replace: bool) -> Result:
    """Keep the whole home in one file; it may be in use meanwhile."""
    from quorra.jobs.backup import make

    with call.open() as home:
        call.owns("A backup")
        made = make.make(home, Path(abspath(file)), replace=replace)
    for path in made.apart:
        call.say(f"{path} is a repository of its own and was left out.")
    text = f"{counted(made.files, 'file')} and the history are kept in {made.file} ({made.bytes:,} bytes)."
    return Result({"file": str(made.file), "commit": made.commit, "files": made.files, "bytes": made.bytes}, text)


@click.command()
@click.argument("file", callback=named)
@verb
def restore(call: Call, file: str) -> Result:
    """Bring a home back into the empty or new folder that --home names, else into the working directory."""
    from quorra.jobs.backup import restore as back

    call.owns("Restoring a home")
    where = Path(abspath(call.home or Path.cwd()))
    done = back.restore(Path(abspath(file)), where)
    lines = [
        f"{done.home} holds the home as it was kept: {counted(done.files, 'file')} and its history.",
        f"Ask it something: cd {quote(str(done.home))} && quorra ask 'your question'",
    ]
    fields = {"home": str(done.home), "commit": done.commit, "files": done.files, "bytes": done.bytes}
    return Result(fields, "\n".join(lines))
