"""Laws of a reorganization: links follow, nothing new dangles, and no byte outside a link's target changes."""

import posixpath
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from quorra.ledger.change import Refused
from quorra.vault import links, parse
from quorra.vault.note import Note
from quorra.vault.reorg.moves import Moves, expand
from quorra.vault.reorg.operation import Operation
from quorra.vault.reorg.reorganize import LinkGraph, reorganize

NAMES = st.sampled_from(
    ["a", "b", "A", "todo", "x y", "größe", "it's", "50%", "n (1)", "overview", "index", "🜚", "c&d"]
)
FOLDERS = st.sampled_from(["", "home/", "home/deep/", "Inbox/", "an other/"])
PATHS = st.builds(
    lambda folder, name, end: f"{folder}{name}{end}", FOLDERS, NAMES, st.sampled_from([".md"] * 4 + [".png"])
)
VAULTS = st.lists(PATHS, min_size=2, max_size=8, unique_by=links.fold)
FORMS = st.sampled_from(
    ["whole", "bare", "relative", "angle", "root", "html", "entity", "reference", "embed", "dangling"]
)


def written(form: str, source: str, target: str) -> str:
    """Writes a link to a file as a person might."""
    whole = target.removesuffix(".md")
    relative = posixpath.relpath("/" + target, "/" + posixpath.dirname(source))
    return {
        "whole": f"[[{whole}]]",
        "bare": f"[[{posixpath.basename(whole)}|shown]]",
        "embed": f"![[{posixpath.basename(target)}#part]]",
        "relative": f"[x]({quote(relative)}#part)",
        "angle": f"[x](<{relative}> 'title')",
        "root": f"![x](/{quote(target)})",
        "html": f'<img src="{relative.replace("&", "&amp;").replace("%", "%25")}">',
        "reference": f"[x][r]\n\n[r]: {quote(relative)}",
        "dangling": "[[nowhere]] [x](no/where.md)",
        "entity": "",
    }[form]


@st.composite
def vaults(draw: st.DrawFn) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    paths = draw(VAULTS)
    for path in paths:
        if not path.endswith(".md"):
            files[path] = b"\x89PNG"
            continue
        chosen = draw(st.lists(st.tuples(FORMS, st.sampled_from(paths)), max_size=4))
        named = [target.removesuffix(".md") for form, target in chosen if form == "entity"]
        head = "---\nentities:\n" + "".join(f'- "{name}" # kept\n' for name in named) + "---\n" if named else ""
        end = draw(st.sampled_from(["\n", "\r\n", ""]))
        files[path] = (head + "\n\n".join(written(form, path, target) for form, target in chosen) + end).encode()
    return files


@st.composite
def plans(draw: st.DrawFn) -> tuple[dict[str, bytes], list[Operation]]:
    files = draw(vaults())
    some = st.sampled_from(sorted(files))
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        verb, src = draw(st.sampled_from(["move", "rename", "promote_to_folder", "folder"])), draw(some)
        if verb == "folder":
            src, verb = posixpath.dirname(src) or src, "move"
        steps.append(Operation(verb, src, "" if verb == "promote_to_folder" else draw(PATHS).removesuffix(".md")))
    return files, steps


def blanked(note: Note) -> str:
    """Gives a note's text without the targets of its links."""
    text = note.text
    for start, end in sorted({link.span for link in note.links}, reverse=True):
        text = f"{text[:start]}\0{text[end:]}"
    return text


def wanted(found: str | None, moves: Moves) -> str | None:
    return found if found in (None, links.EXTERNAL, links.SELF) else moves.after(str(found))


@given(plans())
@settings(max_examples=400, deadline=None)
def test_links_follow_and_all_else_stays(plan: tuple[dict[str, bytes], list[Operation]]):
    files, steps = plan
    moves = expand(steps, files)
    if isinstance(moves, Refused):
        return
    notes = {path: parse.note(path, raw) for path, raw in files.items() if path.endswith(".md")}
    done = reorganize(
        moves, LinkGraph(list(files), {path: note.links for path, note in notes.items()}), files.__getitem__
    )
    if isinstance(done, Refused):
        assert done.code in ("dangling", "not_utf8")
        return
    after = {str(moves.after(path)): raw for path, raw in files.items()} | dict(done.texts)
    assert len(after) == len(files)
    before, now = links.Names(files), links.Names(after)
    for path, note in notes.items():
        place = str(moves.after(path))
        again = parse.note(place, after[place])
        assert blanked(again) == blanked(note)
        for old, new in zip(note.links, again.links, strict=True):
            want = wanted(links.resolve(old, path, before), moves)
            if want is None:
                assert new.target == old.target
            else:
                assert links.resolve(new, place, now) == want
