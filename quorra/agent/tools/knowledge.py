"""Tools that look things up: search, read, links and history, all inside the window of whoever is asking."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quorra.agent.calling.tool import Reach, Result, Tool
from quorra.agent.scopes import GENERAL
from quorra.agent.tools.told import given, quoted
from quorra.agent.tools.told.given import Named, Number, Text
from quorra.index.found import Found, Hit, Ranks
from quorra.index.intake import passages
from quorra.ledger.change import Entry
from quorra.ledger.history import UnknownRevision
from quorra.vault.library import NoNote, Read
from quorra.vault.note import Note
from quorra.vault.reading import parse
from quorra.vault.reading.seen import seen
from quorra.vault.texts import plain

MOST = 10
"""Passages that one search gives at most."""
_ROOM = 6000
_LINKS, _COMMITS = 30, 20
_NOWHERE = Ranks(None, None)


class Search(msgspec.Struct):
    """Find passages in the notes and facts. Cite what you use by path and lines."""

    question: Text
    k: Annotated[Number, Meta(description="passages, at most 10")] = 6


class ReadNote(msgspec.Struct):
    """Read a note."""

    path: Annotated[Text, Meta(description="path, or PATH@REV as it was at a commit")]
    from_line: Number = 1


class Links(msgspec.Struct):
    """What a note links to, and what links to it."""

    path: Text


class History(msgspec.Struct):
    """Who changed a note, when and why; without a path, all notes. Names the commits."""

    path: Text = ""


def search(reach: Reach, call: Search) -> Result:
    """Gives the best passages with where each stands, and how far behind the index is."""
    question, k = given.text(call.question).strip(), given.number(call.k, 6)
    if not question:
        return Result("The question is empty. Give the words to look for.", ok=False)
    taken = min(max(k, 1), MOST)
    found = reach.rooms.search(question, window=reach.window, k=taken, per_note=False)
    hits = tuple(hit for hit in found.hits if reach.window.sees(hit.path))
    said = [f"(k is 1 to {MOST}; {taken} was taken.)"] if k != taken else []
    if hits:
        said.append(f"{quoted.counted(len(hits), 'passage')}. {quoted.NOTICE}")
        said += _passages(reach, hits)
    else:
        said.append("Nothing found. Try other words, one thing at a time, or the name of a person, place or device.")
    said += _behind(found)
    return Result("\n".join(said), hits=hits, targets=tuple(dict.fromkeys(hit.path for hit in hits)))


def _behind(found: Found) -> Iterator[str]:
    """Says what the search could not know yet."""
    if found.behind:
        yield f"The index is {quoted.counted(found.behind, 'change')} behind the files: what is newest may be missing."
    if found.pending:
        are = "passage is" if found.pending == 1 else "passages are"
        yield f"{found.pending} {are} found by words alone so far, not by meaning."


def _passages(reach: Reach, hits: Sequence[Hit]) -> Iterator[str]:
    trusted: dict[str, str] = {}
    for at, hit in enumerate(hits, 1):
        mark = trusted.setdefault(hit.path, trust(_metadata(reach, hit)))
        yield f"[{at}] {_place(hit)} trust={mark}\n{quoted.block(seen(hit.text, part=True).strip(chr(10)))}"


def _place(hit: Hit) -> str:
    """Gives where a passage stands, each of the note's own words in quotes."""
    told = f"path={quoted.inline(hit.path, 400)} lines={hit.lines[0]}-{hit.lines[1]}"
    heading = hit.heading or hit.title
    told += f" heading={quoted.inline(heading)}" if heading else ""
    return f"{told} date={quoted.inline(hit.date, 40)}" if hit.date else told


def _metadata(reach: Reach, hit: Hit) -> Mapping[str, Any]:
    texts = reach.rooms.library.texts
    if hit.commit:
        return parse.note(hit.path, texts.ledger.blob(hit.blob)).metadata
    now = texts.held(hit.path)
    return parse.note(hit.path, now[1]).metadata if now else {}


def trust(metadata: Mapping[str, Any]) -> str:
    """Says where a note's words come from by what its frontmatter says of it.

    ``external`` where it names a source, ``concluded`` where Quorra is its author, else ``stated``: somebody wrote it.
    """
    if metadata.get("source"):
        return "external"
    return "concluded" if str(metadata.get("author", "")).strip().lower() == "quorra" else "stated"


def read(reach: Reach, call: ReadNote) -> Result:
    """Gives a note's lines from one on; what does not fit is said."""
    wanted = given.text(call.path)
    found = _read(reach, wanted)
    if isinstance(found, str):
        return Result(found, ok=False)
    said, held = found
    text = seen(held.note.text).rstrip()
    rows = quoted.lines(text)
    first = given.number(call.from_line, 1)
    first = given.line(wanted) or 1 if first <= 1 else first
    if first > len(rows):
        said += f"(It has {quoted.counted(len(rows), 'line')}; it was read from the first.)\n"
        first = 1
    kept = list(_fitting(rows[first - 1 :], _ROOM))
    last = first + len(kept) - 1
    stands = f"commit={held.commit[:10]}" if held.commit else "not committed yet"
    told = f"path={quoted.inline(held.note.path, 400)} lines={first}-{last} of {len(rows)} {stands}"
    told += f" trust={trust(held.note.metadata)}"
    told = f"{said}{told}\n{quoted.NOTICE}\n{quoted.block(chr(10).join(kept))}"
    if len(rows[first - 1]) > _ROOM:
        told += f"\nLine {first} is longer than that; only its first {_ROOM} characters are shown."
    if last < len(rows):
        told += f"\n{quoted.counted(len(rows) - last, 'line')} left out: read on with from_line {last + 1}."
    return Result(told, hits=_hits(held, first, last), targets=(held.note.path,))


def _read(reach: Reach, wanted: str) -> tuple[str, Read] | str:
    """Reads a note as it is or was, with what its name was taken for; a sentence where there is none."""
    named = given.note(reach, wanted)
    if isinstance(named, Named):
        return named.said, reach.rooms.library.read(named.path, reach.window)
    path, mark, revision = given.bare(wanted).rpartition("@")
    if not mark or not path:
        return named
    now = given.note(reach, path)
    tried = now.path if isinstance(now, Named) else path
    try:
        return now.said if isinstance(now, Named) else "", reach.rooms.library.read(tried, reach.window, revision)
    except (NoNote, UnknownRevision):
        told = f"There is no note {quoted.inline(path)} at {quoted.inline(revision)}."
        return f"{told} Call note_history for the commits of a note; without @ it is read as it is now."


def _fitting(rows: Iterable[str], room: int) -> Iterator[str]:
    """Gives the first rows that fit; a row that alone is too long is cut."""
    for at, row in enumerate(rows):
        if at and len(row) + 3 > room:
            return
        yield row[:_ROOM]
        room -= len(row) + 3


def _hits(held: Read, first: int, last: int) -> tuple[Hit, ...]:
    """Gives the passages of the lines that were shown, as a search would."""
    note: Note = held.note
    return tuple(
        Hit(note.path, one.heading, one.lines, held.commit, held.blob, one.text, 0.0, _NOWHERE, note.title, note.date)
        for one in passages.cut(note).passages
        if first <= one.lines[0] and one.lines[1] <= last
    )


def links(reach: Reach, call: Links) -> Result:
    """Gives the links of a note both ways; whatever lies outside the window is on neither side."""
    named = given.note(reach, given.text(call.path))
    if isinstance(named, str):
        return Result(named, ok=False)
    library = reach.rooms.library

    def known() -> Any:
        from quorra.index import links as kept

        return kept.known(library.texts.settings.private / "index")

    out, incoming = library.links(named.path, reach.window, library.graph(known))
    ways = [f"line {link.line}: {quoted.inline(link.text)} -> {_leads(link.resolves)}" for link in out]
    sources = [f"{quoted.inline(link.path, 400)} line {link.line}" for link in incoming]
    told = [f"{named.said}{quoted.inline(named.path, 400)}"]
    told += [f"Links in it: {len(out) or 'none'}.", *_short(ways)]
    told += [f"Links to it: {len(incoming) or 'none'}.", *_short(sources)]
    return Result("\n".join(told), targets=(named.path,))


def _leads(resolves: str | None) -> str:
    known = {None: "nowhere", "EXTERNAL": "an outside address", "SELF": "itself"}
    return known[resolves] if resolves in known else quoted.inline(resolves, 400)


def history(reach: Reach, call: History) -> Result:
    """Gives the newest commits first; one that touched anything outside the window is not among them."""
    wanted = given.text(call.path).strip()
    named = given.note(reach, wanted) if wanted else Named("")
    library = reach.rooms.library
    if isinstance(named, str):
        # Who sees the whole home also gets the history of what is gone.
        gone = given.bare(wanted)
        entries = library.log(gone, _COMMITS, reach.window) if reach.window.whole and plain(gone) else []
        if not entries:
            return Result(named, ok=False)
        named = Named(gone)
    else:
        entries = library.log(named.path or None, _COMMITS, reach.window)
    if not entries:
        return Result(f"{named.said}It was never committed.")
    rest = [f"Older ones are not shown; these are the newest {_COMMITS}."] if len(entries) == _COMMITS else []
    return Result("\n".join([f"{named.said}Newest first:", *map(_commit, entries), *rest]), targets=(named.path,))


def _commit(entry: Entry) -> str:
    """Says who did what when, and for whom; what people wrote in quotes."""
    told = f"{entry.commit[:10]} {entry.when[:16].replace('T', ' ')} by {quoted.inline(entry.author, 60)}"
    principal, reason = entry.trailers.get("Quorra-Principal"), entry.trailers.get("Quorra-Reason")
    told += f" for {quoted.inline(principal, 60)}" if principal else ""
    told += f": {quoted.inline(entry.subject)}"
    return f"{told} because {quoted.inline(reason)}" if reason not in (None, "none", entry.subject) else told


def _short(rows: Sequence[str]) -> Sequence[str]:
    return rows if len(rows) <= _LINKS else [*rows[:_LINKS], f"… and {len(rows) - _LINKS} more"]


_SCOPES = frozenset({GENERAL})
TOOLS = (
    Tool("search_knowledge_base", Search, _SCOPES, 0, search),
    Tool("read_note", ReadNote, _SCOPES, 0, read),
    Tool("note_links", Links, _SCOPES, 0, links),
    Tool("note_history", History, _SCOPES, 0, history),
)
