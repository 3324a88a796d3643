"""The verbs about the home itself: init and sync."""

from dataclasses import asdict
from pathlib import Path
from shlex import quote

import rich_click as click

from quorra.surfaces.cli.verb import Call, Result, counted, named, verb


@click.command()
@click.argument("folder", callback=named)
@click.option("--empty", is_flag=True, help="Without the starter vault.")
@click.option(
    "--vault", default="vault", show_default=True, callback=named, help="Where the notes are inside the folder."
)
@verb
def init(call: Call, folder: str, empty: bool, vault: str) -> Result:
    """Make a home in a folder, or of a folder that already holds notes."""
    from quorra import home

    call.owns("Making a home")
    made = home.create(Path(folder).absolute(), vault=vault, empty=empty)
    for note in made.notices:
        call.say(note)
    lines = [
        f"{made.home} is a home now.",
        f"Ask it something: cd {quote(str(made.home))} && quorra ask 'your question'",
    ]
    return Result({"home": str(made.home), "commit": made.commit}, "\n".join(lines))


@click.command()
@click.option("--rebuild", is_flag=True, help="Forget the indexes and make them anew.")
@click.option("--for", "seconds", type=click.FloatRange(min=0), help="Embed for at most this many seconds.")
@verb
def sync(call: Call, rebuild: bool, seconds: float | None) -> Result:
    """Bring the indexes up to the files and embed what is pending."""
    with call.open() as home:
        call.owns("Syncing every domain")
        report = home.sync(rebuild=rebuild, seconds=seconds, say=call.say)
    notes, passages = counted(report.documents, "note"), counted(report.passages, "passage")
    text = f"{notes}, {passages}, {report.pending} not embedded yet."
    if report.problems:
        text += f" {counted(report.problems, 'note has problems', 'notes have problems')}: quorra check"
    return Result(asdict(report), text)
