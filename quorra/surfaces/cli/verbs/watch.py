"""The verb that takes in hand edits as they happen: watch."""

import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import TYPE_CHECKING

import rich_click as click

from quorra.surfaces.cli.verb import Call, Result, verb

if TYPE_CHECKING:
    from quorra.home import Home
    from quorra.jobs.rounds import Round
    from quorra.jobs.watch import Watcher

_LOOK = 0.2
_NOBODY = (
    "Edits outside members' folders will be by unknown. If the files here are yours alone, put into quorra.toml: "
    '[authors.{uid}] and, below it, principal = "owner".'
)


@click.command()
@click.option("--once", is_flag=True, help="Take in what is there once it has been quiet, and stop.")
@verb
def watch(call: Call, once: bool) -> Result:
    """Commit what is edited by hand, each time the files have been quiet for a while."""
    with call.open() as home:
        call.owns("Taking in hand edits")
        return _once(home) if once else _always(call, home)


def _once(home: "Home") -> Result:
    from quorra.jobs.watch import Watcher

    found = Watcher(home).once()
    fields = {name: value for name, value in asdict(found).items() if name != "again"}
    return Result(fields, "\n".join(lines(found)) or "No hand edits.")


def _always(call: Call, home: "Home") -> Result:
    from quorra.jobs.watch import Watcher

    totals = {"commits": 0, "files": 0, "conflicts": 0}

    def tell(found: "Round") -> None:
        totals["commits"] += len(found.adopted)
        totals["files"] += sum(len(each.paths) for each in found.adopted)
        totals["conflicts"] += len(found.conflicts)
        for line in lines(found):
            call.say(line)

    def ready() -> None:
        call.say(f"Quorra watches {home.settings.home}. End it with Ctrl-C.")
        if not home.settings.authors:
            call.say(_NOBODY.format(uid=home.settings.home.stat().st_uid))

    _run(Watcher(home, tell, call.say), ready)
    return Result(totals, "")


def _run(watcher: "Watcher", ready: Callable[[], None]) -> None:
    """Watches beside this thread, which only hears signals: it could not wake itself up from one."""
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: asked.append(number))
    with ThreadPoolExecutor(1, "quorra-watch") as pool:
        running = pool.submit(watcher.run, ready)
        while not running.done():
            wait([running], _LOOK)
            if asked:
                watcher.stop()
        running.result()


def lines(found: "Round") -> list[str]:
    """Says what a round found."""
    told = [f"{each.commit[:10]}  {each.subject} by {each.author}" for each in found.adopted]
    told += [f"{each.path or 'Hand edits'} left alone: {each.reason.removesuffix('.')}." for each in found.left]
    for each in found.conflicts:
        helps = f" To merge it: quorra review show {each.proposal}" if each.proposal else ""
        told.append(f"{each.copy} is a conflicted copy of {each.path}.{helps}")
    return told + [f"{each.path}:{each.line} links to {each.target}, which is gone." for each in found.dangling]
