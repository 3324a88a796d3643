"""The verbs that find and answer: search and ask."""

from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING

import rich_click as click

from quorra.surfaces.cli.verb import AWAY, DONE, Call, Result, counted, verb

if TYPE_CHECKING:
    from quorra.agent.asking.answer import Answer, Citation
    from quorra.index.found import Found, Mode

_WIDTH, _LETTERS = 200, 3


@click.command()
@click.argument("question")
@click.option("-k", type=click.IntRange(1, 1000), default=10, show_default=True, help="How many notes.")
@click.option("--mode", type=click.Choice(["hybrid", "words", "meaning"]), default="hybrid", show_default=True)
@click.option("--window", help="Domains to search, separated by commas: household, member:SLUG.")
@click.option("--at", metavar="REV", help="Search the notes as they were at this revision.")
@click.option("--no-sync", is_flag=True, help="Answer from the index as it is.")
@verb
def search(
    call: Call, question: str, k: int, mode: "Mode", window: str | None, at: str | None, no_sync: bool
) -> Result:
    """Find notes: one hit a note, its best passage."""
    from quorra.surfaces import fields

    with call.open() as home:
        found = home.search(
            question,
            k=k,
            mode=mode,
            window=home.window(call.principal, window),
            wait=0.0 if no_sync and at is None else 0.5,
            at=at,
        )
    return Result(fields.found(found), _hits(found, question, past=at is not None))


@click.command()
@click.argument("question")
@click.option("--model", help="A GGUF file, a model's name, scripted, or openai:URL#NAME.")
@click.option("--at", metavar="REV", help="Answer from the notes as they were at this revision.")
@verb
def ask(call: Call, question: str, model: str | None, at: str | None) -> Result:
    """Answer from the vault and facts, with citations."""
    from quorra.surfaces import fields

    if model and Path(model).is_file():
        model = str(Path(model).absolute())
    with call.open() as home:
        if at is None:
            home.prepare(call.say)
        answer = home.ask(question, window=home.window(call.principal, None), model=model, at=at, say=call.say)
    return Result(fields.reply(answer), _told(answer), AWAY if answer.outcome == "model_away" else DONE)


def _hits(found: "Found", question: str, past: bool) -> str:
    if found.reason == "empty_query":
        return "Nothing was asked."
    lines = []
    for hit in found.hits:
        heading = f"  {hit.heading}" if hit.heading else ""
        lines.append(f"{hit.path}:{hit.lines[0]}{heading}\n    {_excerpt(hit.text, question)}")
    if not found.hits:
        closed = found.reason == "closed_window"
        lines.append("Nothing found: the window opens no domain." if closed else "Nothing found.")
    if found.behind:
        lines.append(f"(The index is {counted(found.behind, 'change')} behind the files: quorra sync)")
    if found.pending:
        told = ("passage is", "passages are", "not embedded yet: quorra sync")
        if past:
            told = ("passage of then is", "passages of then are", "not embedded, and found by words alone")
        lines.append(f"({counted(found.pending, *told[:2])} {told[2]})")
    return "\n".join(lines)


def _excerpt(text: str, question: str) -> str:
    """Cuts a passage to what a line or two hold, around the first of the question's words that stands far inside."""
    from quorra.vault.reading.seen import seen

    text = " ".join(seen(text, part=True).split())
    places = [text.lower().find(word) for word in question.lower().split() if len(word) > _LETTERS]
    at = min((place for place in places if place >= 0), default=0)
    if at > _WIDTH // 2 and len(text) > _WIDTH:
        text = "… " + text[text.rfind(" ", 0, at - _WIDTH // 3) + 1 :]
    return shorten(text, _WIDTH, placeholder=" …")


def _told(answer: "Answer") -> str:
    sources = [f"  [{cited.n}] {_place(cited)}" for cited in answer.citations]
    return "\n".join([answer.answer, *([""] if sources else []), *sources])


def _place(cited: "Citation") -> str:
    first, last = cited.lines
    lines = str(first) if first == last else f"{first}-{last}"
    return f"{cited.path}:{lines} ({f'commit {cited.commit[:10]}' if cited.commit else 'not committed yet'})"
