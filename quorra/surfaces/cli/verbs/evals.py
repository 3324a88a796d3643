"""The verb that measures: evals run."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from quorra.surfaces.cli.verb import Call, Result, verb

if TYPE_CHECKING:
    from quorra.evals.run import Run


@click.group()
def evals() -> None:
    """Measure how well Quorra finds and answers."""


@evals.command()
@click.argument("suite")
@click.option("--answers", is_flag=True, help="Also ask each question and judge the answers.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the result to a file too.")
@verb
def run(call: Call, suite: str, answers: bool, out: Path | None) -> Result:
    """Run a suite: a name under evals/ or a path."""
    from quorra.evals import run as runs
    from quorra.evals import suite as suites
    from quorra.evals import throwaway
    from quorra.surfaces import fields

    if out and not out.parent.is_dir():
        raise click.BadParameter(f"There is no folder {out.parent}.", param_hint="--out")
    with call.open() as home:
        call.owns("Running evals")
        read = suites.read(suites.find(suite, home.settings.home / "evals"))
        with throwaway.home(read, home) as place:
            place.sync(say=call.say)
            done = runs.run(read, place, answers=answers, say=call.say)
    body = fields.run(done)
    if out:
        _write(out.resolve(), json.dumps(body, indent=1) + "\n")
    return Result(body, _table(done))


def _write(out: Path, text: str) -> None:
    """Replaces a file once the new one is whole; a device or a pipe is written to as it is."""
    if out.exists() and not out.is_file():
        out.write_text(text, encoding="utf-8")
        return
    fresh = out.with_name(f"{out.name}.{os.getpid()}.new")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(out)
    finally:
        fresh.unlink(missing_ok=True)


def _table(done: "Run") -> str:
    names = list(next(iter(done.metrics.values())))
    lines = ["         " + "".join(f"{name:>11}" for name in names)]
    lines += [f"{mode:9}" + "".join(f"{row[name]:11.3f}" for name in names) for mode, row in done.metrics.items()]
    if done.answers:
        lines.append(", ".join(f"{count} {name}" for name, count in done.answers.items()))
    return "\n".join(lines)
