"""The verb that measures: evals run."""

import json
from typing import TYPE_CHECKING, TextIO

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
@click.option(
    "--out", type=click.File("w", encoding="utf-8", lazy=False, atomic=True), help="Write the result to a file too."
)
@verb
def run(call: Call, suite: str, answers: bool, out: TextIO | None) -> Result:
    """Run a suite: a name under evals/ or a path."""
    from quorra.evals import run as runs
    from quorra.evals import suite as suites
    from quorra.evals import throwaway

    with call.open() as home:
        call.owns("Running evals")
        read = suites.read(suites.find(suite, home.settings.home / "evals"))
        with throwaway.home(read, home) as place:
            place.sync(say=call.say)
            done = runs.run(read, place, answers=answers, say=call.say)
    fields = done.fields()
    if out:
        out.write(json.dumps(fields, indent=1) + "\n")
    return Result(fields, _table(done))


def _table(done: "Run") -> str:
    names = list(next(iter(done.metrics.values())))
    lines = ["         " + "".join(f"{name:>11}" for name in names)]
    lines += [f"{mode:9}" + "".join(f"{row[name]:11.3f}" for name in names) for mode, row in done.metrics.items()]
    if done.answers:
        lines.append(", ".join(f"{count} {name}" for name, count in done.answers.items()))
    return "\n".join(lines)
