"""The verbs that find and answer: search and ask."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from quorra.surfaces.cli.verb import AWAY, DONE, Call, Result, verb

if TYPE_CHECKING:
    from quorra.agent.answer import Answer
    from quorra.index.found import Found


@click.command()
@click.argument("question")
@click.option("-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many notes.")
@click.option("--mode", type=click.Choice(["hybrid", "words", "meaning"]), default="hybrid", show_default=True)
@click.option("--window", help="Domains to search, separated by commas: household, member:SLUG.")
@click.option("--no-sync", is_flag=True, help="Answer from the index as it is.")
@verb
def search(call: Call, question: str, k: int, mode: Any, window: str | None, no_sync: bool) -> Result:
    """Find notes: one hit a note, its best passage."""
    from quorra.surfaces import fields

    with call.open() as home:
        found = home.search(
            question, k=k, mode=mode, window=home.window(call.principal, window), wait=0.0 if no_sync else 0.5
        )
    return Result(fields.found(found), _hits(found))


@click.command()
@click.argument("question")
@click.option("--model", help="A GGUF file, a model's name, scripted, or openai:URL#NAME.")
@verb
def ask(call: Call, question: str, model: str | None) -> Result:
    """Answer from the vault and facts, with citations."""
    from quorra.surfaces import fields

    if model and Path(model).is_file():
        model = str(Path(model).absolute())
    with call.open() as home:
        home.prepare(call.say)
        answer = home.ask(question, window=home.window(call.principal, None), model=model)
    return Result(fields.answer(answer), _told(answer), AWAY if answer.outcome == "model_away" else DONE)


def _hits(found: "Found") -> str:
    if not found.hits:
        return "Nothing found." if found.reason is None else "Nothing was asked."
    lines = []
    for hit in found.hits:
        where = f"{hit.path}:{hit.lines[0]}"
        heading = f"  {hit.heading}" if hit.heading else ""
        lines.append(f"{where}{heading}\n    {' '.join(hit.text.split())[:200]}")
    if found.pending:
        lines.append(f"({found.pending} passages are not embedded yet: quorra sync)")
    return "\n".join(lines)


def _told(answer: "Answer") -> str:
    sources = [f"  [{cited.n}] {cited.path}:{cited.lines[0]}-{cited.lines[1]}" for cited in answer.citations]
    return "\n".join([answer.answer, *([""] if sources else []), *sources])
